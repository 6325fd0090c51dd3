"""The few narrow protocols the use cases stand on.

Adapters implement them, ``wiring`` chooses among the adapters, and one contract suite a port
holds all of them to the same promises. Nothing here may import an adapter or a cloud library.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from shared.core.alert_routes import Target
from shared.core.cloud import BidRequest as BidRequest
from shared.core.cloud import CloudNode as CloudNode
from shared.core.cloud import CloudRequest as CloudRequest
from shared.core.cloud import Listing as Listing
from shared.core.cloud import TickAttempt as TickAttempt
from shared.core.identity import Person

# What a field of a document may hold. Mappings have string keys; datetimes are aware, in UTC.
Value: TypeAlias = (
    "bool | int | float | str | datetime | Sequence[Value] | Mapping[str, Value] | None"
)
Fields: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Document:
    """One document as it was read.

    ``token`` is the compare-and-set token: opaque, never reused, not even by a document that
    was deleted and made again. ``updated_at`` and ``read_at`` are both the store's own clock,
    so their difference is a true age.
    """

    path: str
    fields: Fields
    token: str
    updated_at: datetime
    read_at: datetime


@dataclass(frozen=True, slots=True)
class Create:
    """Write a document that must not exist yet."""

    path: str
    fields: Fields


@dataclass(frozen=True, slots=True)
class Replace:
    """Write a whole document that must not have changed since ``token``."""

    path: str
    fields: Fields
    token: str


@dataclass(frozen=True, slots=True)
class Guard:
    """Write nothing, but fail the commit if the document changed since ``token``."""

    path: str
    token: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a document; with a ``token`` only if it has not changed since.

    Without a token, removing a document that is not there succeeds.
    """

    path: str
    token: str | None = None


Write: TypeAlias = Create | Replace | Guard | Delete
Operator: TypeAlias = Literal["==", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Where:
    """One condition on one top-level field. Documents that lack the field never match."""

    field: str
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class Query:
    """A bounded question to one collection (``jobs``, ``slices/a/hosts``, …).

    Conditions are joined by *and*. ``order_by`` names a top-level field, with a leading ``-``
    for descending; without it the order is by path. ``limit`` is always given: nothing in the
    control plane reads an unbounded number of documents.
    """

    collection: str
    where: tuple[Where, ...] = ()
    order_by: str | None = None
    limit: int = 100


# A commit stays far below every limit of Firestore (500 writes, 10 MiB).
COMMIT_WRITES_MAX = 100
DOCUMENT_BYTES_MAX = 1024 * 1024


class Store(Protocol):
    """Documents with compare-and-set and atomic commits of several of them."""

    def get(self, path: str) -> Document | None:
        """Read one document, or None.  Raises Unavailable."""
        ...

    def query(self, query: Query) -> list[Document]:
        """Read the documents that match.  Raises Unavailable."""
        ...

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply all writes or none.

        Raises Conflict when a precondition fails, Permanent for more than
        ``COMMIT_WRITES_MAX`` writes or a document over ``DOCUMENT_BYTES_MAX``, Unavailable
        when the store did not answer (the commit may or may not have happened).
        """
        ...


@dataclass(frozen=True, slots=True)
class Message:
    """What is published: bytes and string attributes."""

    data: bytes
    attributes: Mapping[str, str] = field(default_factory=dict)


class Bus(Protocol):
    """Publish; delivery is at least once, in any order, and may be late."""

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Hand over all messages.  Raises Unavailable (some may have been accepted)."""
        ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message on its way to one subscription.  ``attempt`` counts from 1."""

    id: str
    subscription: str
    topic: str
    message: Message
    published_at: datetime
    attempt: int


class Inbox(Protocol):
    """The receiving half of a bus that is pulled from (embedded and box wirings)."""

    def pull(self, subscription: str, *, limit: int = 1) -> list[Delivery]:
        """Lease up to ``limit`` due messages for the subscription's ack deadline."""
        ...

    def ack(self, delivery: Delivery) -> None:
        """Forget the message.  Idempotent."""
        ...

    def retry(self, delivery: Delivery, *, after_s: float | None = None) -> None:
        """Give it back: due after ``after_s`` or the backoff; tried too often, it is put aside."""
        ...


@dataclass(frozen=True, slots=True)
class Blob:
    """An object as it was read; ``generation`` is unique but has no order."""

    name: str
    data: bytes
    generation: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """An object in a listing."""

    name: str
    size: int
    generation: int
    updated_at: datetime


class Blobs(Protocol):
    """Objects of one bucket."""

    def get(self, name: str) -> Blob | None:
        """Read an object, or None.  Raises Unavailable."""
        ...

    def put(self, name: str, data: bytes, *, if_generation: int | None = None) -> int:
        """Write an object and return its generation.

        ``if_generation`` must be its present one, 0 if there is none.  Raises Conflict.
        """
        ...

    def list(self, prefix: str, *, after: str = "") -> list[BlobInfo]:
        """List the objects under a prefix by name, those past ``after`` only."""
        ...


class SliceApi(Protocol):
    """Cloud TPU, as far as the control plane needs it."""

    def create(self, request: BidRequest) -> str:
        """Ask for a queued resource; return the operation's name, "" if it exists already.

        Raises Stockout, QuotaExceeded, RateLimited, NoAccess, NotAuthorized, InvalidRequest,
        Busy, Unavailable.  Idempotent: by name and request id.
        """
        ...

    def operation_error(self, operation: str) -> str | None:
        """Say what an operation failed with, "" if it did not; None: it is not known any more."""
        ...

    def get(self, zone: str, name: str) -> CloudRequest | None:
        """Read one queued resource and its nodes; None only for a true 404."""
        ...

    def list(self, zones: Sequence[str]) -> Listing:
        """List several zones at once; a failing zone is left out of ``complete``."""
        ...

    def delete(self, zone: str, name: str) -> None:
        """Delete a queued resource with its nodes.  Idempotent: 404 is success."""
        ...

    def find(self, zone: str, node: str) -> CloudRequest | None:
        """Read a node that others made as a request of its name; None only for a true 404."""
        ...

    def remove(self, zone: str, node: str, uid: str) -> None:
        """Delete a node that others made, with its request, unless it is another one by now."""
        ...

    def ring(self, zone: str, node: str, value: str) -> None:
        """Set the bell in a node's metadata: read, change one key, patch.  Best effort."""
        ...


class Identity(Protocol):
    """Who gives an order, where that must be proved."""

    def person(self, token: str, published_at: datetime) -> Person:
        """Say who gave what was published at a time.  Raises NotAuthorized, Unavailable."""
        ...


class Webhooks(Protocol):
    """Where people are told.  Addresses come from settings alone, never from a job."""

    @property
    def targets(self) -> Sequence[Target]:
        """Who is told what."""
        ...

    def post(self, name: str, body: bytes, *, alert: str) -> None:
        """Post JSON in bounded time, with the alert's id.

        Raises Unavailable for every answer but 2xx and for none; RateLimited when the webhook
        asks for time. Neither names the address.
        """
        ...


class Ticker(Protocol):
    """What begins ticks in the cloud: at its own times, and when it is told to."""

    def fire(self) -> None:
        """Begin one now.  Raises InvalidRequest, NotAuthorized, RateLimited, Unavailable."""
        ...

    def last_attempt(self) -> TickAttempt | None:
        """Say when it last did and what came of it; None if never.  Raises as ``fire``."""
        ...


class Clock(Protocol):
    """The time, as an aware datetime in UTC."""

    def now(self) -> datetime:
        """Return the time now."""
        ...
