"""Ports that count: what the use cases ask of Google, as Google's bills count it.

It measures and decides nothing: every call goes on to the port that it stands before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Final

from shared.ports import (
    BidRequest,
    Blob,
    BlobInfo,
    Blobs,
    Bus,
    Clock,
    CloudRequest,
    Delete,
    Document,
    Listing,
    Message,
    Query,
    SliceApi,
    Store,
    Write,
)

# Assumed, not measured: what a call takes inside one region, and what a function adds.
READ_S: Final = 0.01
COMMIT_S: Final = 0.03
PUBLISH_S: Final = 0.03
OBJECT_S: Final = 0.05
TPU_S: Final = 0.3
OWN_S: Final = 0.02
# A cold start: the container, and what `python -m bench cold_start` measures.
COLD_S: Final = 1.5
# An instance that nobody calls is kept for about as long.
WARM_S: Final = 900.0
# Google rounds each request up to it.
BILLED_S: Final = 0.1
# Of one request to publish or push, however little is in it; a message's time and id count too.
REQUEST_BYTES_MIN: Final = 1000
MESSAGE_BYTES: Final = 37


@dataclass(frozen=True, slots=True)
class Counts:
    """What was asked of Google.

    ``class_a`` and ``class_b`` are operations of Cloud Storage: writes and listings, reads.
    ``pubsub_bytes`` are published and delivered ones; ``billed_s`` are seconds of functions.
    """

    reads: float = 0
    writes: float = 0
    deletes: float = 0
    messages: float = 0
    pubsub_bytes: float = 0
    invocations: float = 0
    billed_s: float = 0
    tpu_requests: float = 0
    class_a: float = 0
    class_b: float = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in NAMES})

    def __sub__(self, other: Counts) -> Counts:
        return self + other * -1

    def __mul__(self, factor: float) -> Counts:
        return Counts(**{name: getattr(self, name) * factor for name in NAMES})


NAMES: Final = tuple(each.name for each in fields(Counts))


class Meter:
    """What was counted so far; functions are billed for the calls that they make."""

    def __init__(self, clock: Clock) -> None:
        self.counts = Counts()
        self._clock = clock
        self._called_at: dict[str, float] = {}
        self._spent_s = 0.0

    def add(self, seconds: float = 0.0, **counts: float) -> None:
        """Count something that took a function some seconds."""
        self._spent_s += seconds
        self.counts += Counts(**counts)

    @contextmanager
    def invocation(self, function: str, **counts: float) -> Iterator[None]:
        """Count one call of a function with all that it does."""
        now_s = self._clock.now().timestamp()
        is_cold = now_s - self._called_at.get(function, -math.inf) > WARM_S
        self._called_at[function] = now_s
        self._spent_s = OWN_S + COLD_S * is_cold
        yield
        # What is a whole number of units must not be rounded up by how floats are added.
        units = math.ceil(round(self._spent_s / BILLED_S, 6))
        self.add(invocations=1, billed_s=units * BILLED_S, **counts)


@dataclass(frozen=True, slots=True)
class CountingStore:
    """Firestore's bill: a query reads at least one document, a missing one is a read too."""

    store: Store
    meter: Meter

    def get(self, path: str) -> Document | None:
        """Read one document."""
        self.meter.add(READ_S, reads=1)
        return self.store.get(path)

    def query(self, query: Query) -> list[Document]:
        """Read those that match."""
        found = self.store.query(query)
        self.meter.add(READ_S, reads=max(1, len(found)))
        return found

    def commit(self, writes: Sequence[Write]) -> None:
        """Write; what only guards a document is billed as a write, too."""
        self.store.commit(writes)
        deletes = sum(isinstance(write, Delete) for write in writes)
        self.meter.add(COMMIT_S, writes=len(writes) - deletes, deletes=deletes)


@dataclass(frozen=True, slots=True)
class CountingBus:
    """Pub/Sub's bill for publishing; ``delivered_bytes`` is what a push adds."""

    bus: Bus
    meter: Meter

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Publish in one request."""
        size = max(REQUEST_BYTES_MIN, sum(map(_size, messages)))
        self.meter.add(PUBLISH_S, messages=len(messages), pubsub_bytes=size)
        self.bus.publish(topic, messages)


def delivered_bytes(message: Message) -> int:
    """Return what the push of one message is billed as."""
    return max(REQUEST_BYTES_MIN, _size(message))


@dataclass(frozen=True, slots=True)
class CountingBlobs:
    """Cloud Storage's bill."""

    blobs: Blobs
    meter: Meter

    def get(self, name: str) -> Blob | None:
        """Read an object."""
        self.meter.add(OBJECT_S, class_b=1)
        return self.blobs.get(name)

    def put(self, name: str, data: bytes, *, if_generation: int | None = None) -> int:
        """Write an object."""
        self.meter.add(OBJECT_S, class_a=1)
        return self.blobs.put(name, data, if_generation=if_generation)

    def list(self, prefix: str, *, after: str = "") -> list[BlobInfo]:
        """List objects."""
        self.meter.add(OBJECT_S, class_a=1)
        return self.blobs.list(prefix, after=after)


@dataclass(frozen=True, slots=True)
class CountingSlices:
    """Requests to Cloud TPU as the adapter makes them; ``tells`` hears of creates and deletes."""

    slices: SliceApi
    meter: Meter
    tells: Callable[[str, str], None]

    def create(self, request: BidRequest) -> str:
        """Ask for a queued resource."""
        self._count(1)
        operation = self.slices.create(request)
        self.tells("create", request.name)
        return operation

    def operation_error(self, operation: str) -> str | None:
        """Ask for an operation."""
        self._count(1)
        return self.slices.operation_error(operation)

    def get(self, zone: str, name: str) -> CloudRequest | None:
        """Read a queued resource, then its nodes."""
        found = self.slices.get(zone, name)
        self._count(1 + (len(found.nodes) if found else 0))
        return found

    def list(self, zones: Sequence[str]) -> Listing:
        """List queued resources and nodes of each zone, all zones at once."""
        self.meter.add(2 * TPU_S, tpu_requests=2 * len(zones))
        return self.slices.list(zones)

    def delete(self, zone: str, name: str) -> None:
        """Delete a queued resource."""
        self._count(1)
        self.slices.delete(zone, name)
        self.tells("delete", name)

    def find(self, zone: str, node: str) -> CloudRequest | None:
        """Read a node that others made."""
        self._count(1)
        return self.slices.find(zone, node)

    def remove(self, zone: str, node: str, uid: str) -> None:
        """Read a node that others made, then delete it."""
        self._count(2)
        self.slices.remove(zone, node, uid)

    def ring(self, zone: str, node: str, value: str) -> None:
        """Read a node, then change its metadata."""
        self._count(2)
        self.slices.ring(zone, node, value)
        self.tells("ring", node)

    def _count(self, requests: int) -> None:
        self.meter.add(requests * TPU_S, tpu_requests=requests)


def _size(message: Message) -> int:
    attributes: Mapping[str, str] = message.attributes
    texts = sum(len(key) + len(value) for key, value in attributes.items())
    return len(message.data) + texts + MESSAGE_BYTES
