"""The Store in Firestore, by the calls of its API that carry preconditions.

A commit is one call with a precondition on the update time of every document, read or written.
The hand-written client hides half of that: its batches cannot replace a document on condition.
So this stands on the generated client of the same library. Transactions are not used: they
lock, and the embedded Store has none.

Importing this module loads Google's libraries: let only the wiring do it, and late.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from google.api_core import exceptions as api
from google.api_core.retry import Retry, if_exception_type
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport
from google.cloud.firestore_v1.types import firestore as calls
from google.cloud.firestore_v1.types import write as writing

from shared.adapters.document_rules import Prepared, collection_of, conflict_text, prepare
from shared.adapters.firestore_codec import document_of, document_pb, timestamp_of
from shared.adapters.firestore_query import by_path, query_pb
from shared.adapters.google_channels import OPTIONS, to_emulator
from shared.adapters.google_errors import GOOGLE_ERRORS, failure_of, meaning
from shared.errors import Conflict, ControlPlaneError
from shared.ports import Create, Delete, Document, Guard, Query, Replace, Write

CALL_S: Final = 10.0
RETRY_S: Final = 15.0
_PASSING: Final = (api.ServiceUnavailable, api.InternalServerError, api.DeadlineExceeded)
_READ: Final[dict[str, Any]] = {
    "timeout": CALL_S,
    "retry": Retry(
        predicate=if_exception_type(*_PASSING), initial=0.1, maximum=2.0, timeout=RETRY_S
    ),
}
# A commit that is repeated after a lost reply meets its own preconditions: a Conflict, after
# which the caller reads again and finds its work done.
_WRITE: Final[dict[str, Any]] = {
    "timeout": CALL_S,
    "retry": Retry(
        predicate=if_exception_type(api.ServiceUnavailable),
        initial=0.1,
        maximum=2.0,
        timeout=RETRY_S,
    ),
}
# How a commit says that a precondition does not hold.
_CHANGED: Final = frozenset({"ALREADY_EXISTS", "FAILED_PRECONDITION", "NOT_FOUND"})
ROLE: Final = "roles/datastore.user, or roles/datastore.viewer to look"
_WritePb: Final[Any] = writing.Write.pb()


def connect(project: str, *, database: str = "(default)", emulator: str = "") -> FirestoreStore:
    """Open a database at Google, or without credentials at an emulator (``host:port``)."""
    root = f"projects/{project}/databases/{database}"
    if not emulator:
        channel = FirestoreGrpcTransport.create_channel(options=OPTIONS)
        return FirestoreStore(
            FirestoreClient(transport=FirestoreGrpcTransport(channel=channel)), root
        )
    transport = FirestoreGrpcTransport(host=emulator, channel=to_emulator(emulator))
    # The emulator's rules let its owner do everything, as IAM lets a server at Google.
    owner = (("authorization", "Bearer owner"),)
    return FirestoreStore(FirestoreClient(transport=transport), root, owner)


class FirestoreStore:
    """Documents of one database.

    Raises Conflict, InvalidRequest, NotAuthorized, RateLimited or Unavailable.
    """

    def __init__(
        self, client: FirestoreClient, root: str, metadata: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self._client = client
        self._database = root
        self._documents = f"{root}/documents"
        self._metadata = (*metadata, ("google-cloud-resource-prefix", root))

    def get(self, path: str) -> Document | None:
        """Read one document, or None."""
        collection_of(path)
        request = {"database": self._database, "documents": [self._name(path)]}
        with _translated():
            answers = self._client.batch_get_documents(request, metadata=self._metadata, **_READ)
            answer = calls.BatchGetDocumentsResponse.pb(next(iter(answers)))
        if not answer.HasField("found"):
            return None
        return document_of(path, answer.found, answer.read_time)

    def query(self, query: Query) -> list[Document]:
        """Read the documents that match, all at one moment."""
        folder, _, _ = query.collection.rpartition("/")
        parent = f"{self._documents}/{folder}" if folder else self._documents
        request = calls.RunQueryRequest(parent=parent, structured_query=query_pb(query))
        with _translated():
            answers = self._client.run_query(request, metadata=self._metadata, **_READ)
            found = [calls.RunQueryResponse.pb(answer) for answer in answers]
        documents = [
            document_of(self._path(each.document.name), each.document, each.read_time)
            for each in found
            if each.HasField("document")
        ]
        return by_path(query, documents)

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply all writes or none."""
        prepared = prepare(writes)
        if not prepared:
            return
        request = calls.CommitRequest.pb()(
            database=self._database, writes=[self._write(each) for each in prepared]
        )
        with _translated(prepared):
            self._client.commit(
                calls.CommitRequest.wrap(request), metadata=self._metadata, **_WRITE
            )

    def close(self) -> None:
        """Close the connection; no call may be under way."""
        self._client.transport.close()

    def _name(self, path: str) -> str:
        return f"{self._documents}/{path}"

    def _path(self, name: str) -> str:
        return name.removeprefix(f"{self._documents}/")

    def _write(self, prepared: Prepared) -> Any:
        """Write one write with its precondition."""
        write, name = prepared.write, self._name(prepared.write.path)
        match write:
            case Create(_, fields):
                made = _WritePb(update=document_pb(name, fields))
                made.current_document.exists = False
            case Replace(_, fields, token):
                made = _WritePb(update=document_pb(name, fields))
                made.current_document.update_time.CopyFrom(timestamp_of(token))
            case Guard(_, token):
                # An empty mask changes nothing, and so keeps the update time.
                made = _WritePb(update=document_pb(name, {}))
                made.update_mask.SetInParent()
                made.current_document.update_time.CopyFrom(timestamp_of(token))
            case Delete(_, token):
                made = _WritePb(delete=name)
                if token is not None:
                    made.current_document.update_time.CopyFrom(timestamp_of(token))
        return made


@contextmanager
def _translated(prepared: Sequence[Prepared] = ()) -> Iterator[None]:
    """Turn Google's errors into ours."""
    try:
        yield
    except GOOGLE_ERRORS as error:
        raise _error_of(error, prepared) from error


def _error_of(error: Exception, prepared: Sequence[Prepared]) -> ControlPlaneError:
    failure = failure_of(error)
    if prepared and failure.status in _CHANGED:
        return Conflict(_told(failure.text, prepared))
    if failure.status == "ABORTED":
        return Conflict(failure.text)
    return meaning(failure, "Firestore", role=ROLE)


def _told(text: str, prepared: Sequence[Prepared]) -> str:
    """Name the document that changed, where Google's text names it."""
    for each in prepared:
        if each.write.path in text:
            return conflict_text(each.write, is_create=isinstance(each.write, Create))
    return f"a document changed since it was read: {text}"
