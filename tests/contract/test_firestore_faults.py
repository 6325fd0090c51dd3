"""Firestore when replies are lost or nobody answers: nothing is done twice, nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.api_core import exceptions as api
from pytest_mock import MockerFixture

from shared.adapters import firestore
from shared.adapters.firestore import FirestoreStore
from shared.errors import Conflict, Unavailable
from shared.ports import Create, Replace
from tests.emulators import Emulators


@pytest.fixture
def store(emulators: Emulators, cloud_project: str) -> Iterator[FirestoreStore]:
    """Give an empty store."""
    made = firestore.connect(cloud_project, emulator=emulators.firestore)
    yield made
    made.close()


def lose_the_next_reply(store: FirestoreStore, mocker: MockerFixture) -> None:
    """Let the next commit take effect, and tell that the server did not answer."""
    commit = store._client.commit
    answers: list[api.GoogleAPICallError | None] = [api.DeadlineExceeded("lost"), None]

    def losing(*args: Any, **options: Any) -> object:
        reply = commit(*args, **options)
        if error := answers.pop(0):
            raise error
        return reply

    mocker.patch.object(store._client, "commit", losing)


def test_a_lost_reply_is_unavailable_and_the_commit_is_there(
    store: FirestoreStore, mocker: MockerFixture
) -> None:
    """Whoever reads again finds it; whoever repeats it meets his own precondition."""
    lose_the_next_reply(store, mocker)
    writes = [Create("jobs/a", {"n": 1}), Create("outbox/a-1", {})]

    with pytest.raises(Unavailable):
        store.commit(writes)
    found = store.get("jobs/a")
    with pytest.raises(Conflict):
        store.commit(writes)

    assert found is not None
    assert {"n": 1} == found.fields


def test_a_repeated_replace_after_a_lost_reply_is_a_conflict(
    store: FirestoreStore, mocker: MockerFixture
) -> None:
    """Counted once, whatever the network does."""
    store.commit([Create("jobs/a", {"n": 0})])
    seen = store.get("jobs/a")
    assert seen is not None
    lose_the_next_reply(store, mocker)

    with pytest.raises(Unavailable):
        store.commit([Replace("jobs/a", {"n": 1}, seen.token)])
    with pytest.raises(Conflict):
        store.commit([Replace("jobs/a", {"n": 1}, seen.token)])

    found = store.get("jobs/a")
    assert found is not None
    assert {"n": 1} == found.fields


def test_nobody_there_is_unavailable_within_the_time_of_a_call(
    mocker: MockerFixture, cloud_project: str
) -> None:
    """Not for ever, and not with Google's own exception."""
    mocker.patch.object(firestore, "_READ", {"timeout": 1.0, "retry": None})
    store = firestore.connect(cloud_project, emulator="127.0.0.1:1")

    with pytest.raises(Unavailable, match="Firestore"):
        store.get("jobs/a")
    store.close()
