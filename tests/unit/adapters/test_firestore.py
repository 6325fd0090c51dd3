"""What becomes of Firestore's errors, and which queries need an index there."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.api_core import exceptions as api
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from pytest_mock import MockerFixture

from shared.adapters.firestore import FirestoreStore
from shared.adapters.firestore_query import query_pb
from shared.errors import (
    Conflict,
    ControlPlaneError,
    InvalidRequest,
    NotAuthorized,
    RateLimited,
    Unavailable,
)
from shared.ports import Create, Query, Where
from shared.topology import INDEXES, Index


class Answer(grpc.RpcError):
    """What gRPC raises, as far as Google's library looks at it."""


def failed(kind: type[api.GoogleAPICallError], text: str = "no") -> api.GoogleAPICallError:
    """Make the error that Google's library makes of an answer."""
    return kind(text, response=Answer())


@pytest.fixture
def client(mocker: MockerFixture) -> Any:
    """Give a client that calls nobody."""
    return mocker.create_autospec(FirestoreClient, instance=True)


@pytest.fixture
def store(client: Any) -> FirestoreStore:
    """Give a store over it."""
    return FirestoreStore(client, "projects/p/databases/d")


@pytest.mark.parametrize(
    "kind, error",
    [
        pytest.param(api.AlreadyExists, Conflict, id="it exists"),
        pytest.param(api.FailedPrecondition, Conflict, id="it changed"),
        pytest.param(api.NotFound, Conflict, id="it is gone"),
        pytest.param(api.Aborted, Conflict, id="somebody else commits"),
        pytest.param(api.InvalidArgument, InvalidRequest, id="malformed"),
        pytest.param(api.PermissionDenied, NotAuthorized, id="no role"),
        pytest.param(api.Unauthenticated, NotAuthorized, id="nobody"),
        pytest.param(api.ResourceExhausted, RateLimited, id="too many"),
        pytest.param(api.DeadlineExceeded, Unavailable, id="no answer"),
        pytest.param(api.ServiceUnavailable, Unavailable, id="not there"),
        pytest.param(api.InternalServerError, Unavailable, id="broken"),
        pytest.param(api.Unknown, Unavailable, id="something new"),
    ],
)
def test_every_error_of_a_commit_is_one_of_ours(
    store: FirestoreStore,
    client: Any,
    kind: type[api.GoogleAPICallError],
    error: type[ControlPlaneError],
) -> None:
    """The caller knows whether to read again, to wait, or to give up."""
    client.commit.side_effect = failed(kind)

    with pytest.raises(error):
        store.commit([Create("jobs/a", {})])


@pytest.mark.parametrize(
    "kind, error",
    [
        pytest.param(api.NotFound, InvalidRequest, id="no such database"),
        pytest.param(api.FailedPrecondition, InvalidRequest, id="no index"),
        pytest.param(api.PermissionDenied, NotAuthorized, id="no role"),
        pytest.param(api.ServiceUnavailable, Unavailable, id="not there"),
    ],
)
def test_a_read_meets_no_preconditions(
    store: FirestoreStore,
    client: Any,
    kind: type[api.GoogleAPICallError],
    error: type[ControlPlaneError],
) -> None:
    """What would be a conflict of a commit is a mistake here."""
    client.run_query.side_effect = failed(kind)

    with pytest.raises(error):
        store.query(Query("jobs"))


def test_a_missing_role_is_named(store: FirestoreStore, client: Any) -> None:
    """Whoever operates it knows what to grant."""
    client.commit.side_effect = failed(api.PermissionDenied)

    with pytest.raises(NotAuthorized, match=r"roles/datastore\.user"):
        store.commit([Create("jobs/a", {})])


def test_every_call_has_a_timeout_and_a_retry(store: FirestoreStore, client: Any) -> None:
    """The client's own are not relied upon."""
    store.commit([Create("jobs/a", {})])
    client.run_query.return_value = []
    store.query(Query("jobs"))

    for call in (client.commit, client.run_query):
        options = call.call_args.kwargs
        assert options["timeout"] <= 10
        assert options["retry"].timeout <= 15


@pytest.mark.parametrize("index", INDEXES, ids=str)
def test_a_declared_index_serves_its_query(index: Index) -> None:
    """As it is declared, in its direction."""
    *equal, last = index.fields

    made = query_pb(Query(index.collection, tuple(Where(e, "==", "x") for e in equal), last))

    assert [last.removeprefix("-"), "__name__"] == [each.field.field_path for each in made.order_by]


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(Query("jobs", (Where("owner", "==", "a"),), "number"), id="other direction"),
        pytest.param(Query("jobs", (Where("name", "==", "a"),), "-number"), id="other field"),
        pytest.param(Query("slices", (Where("owner", "==", "a"),), "-number"), id="collection"),
        pytest.param(
            Query("jobs", (Where("owner", "==", "a"), Where("number", ">", 1))), id="a range"
        ),
    ],
)
def test_a_query_without_an_index_is_refused(query: Query) -> None:
    """Here, not by the first deployment that runs it."""
    with pytest.raises(InvalidRequest, match=r"topology\.json"):
        query_pb(query)
