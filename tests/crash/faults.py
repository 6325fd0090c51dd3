"""Functions that die, and replies that are lost: at every place once.

A place is named by what is being done there, so each kind of commit and each effect meets its
fault exactly once in a scenario, and is done again in peace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from shared.app.context import App
from shared.errors import Conflict, Unavailable
from shared.ports import (
    Blob,
    BlobInfo,
    Blobs,
    Bus,
    Create,
    Document,
    Guard,
    Message,
    Query,
    Replace,
    Store,
    Write,
)
from tests.fake_slices import FakeSliceApi


class Death(BaseException):
    """A process that ends in the middle of something: nobody catches this."""


class Fault(StrEnum):
    """What goes wrong."""

    DIES_BEFORE = "dies before"
    DIES_AFTER = "dies after"
    FAILS = "fails"
    REPLY_LOST = "reply lost"
    LOSES_RACE = "loses race"


# What can happen to any call; a race is lost by who replaces a document.
ANYWHERE = (Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.FAILS, Fault.REPLY_LOST)
IS_DEATH = frozenset({Fault.DIES_BEFORE, Fault.DIES_AFTER})
IS_BEFORE = frozenset({Fault.DIES_BEFORE, Fault.FAILS, Fault.LOSES_RACE})


@dataclass(slots=True)
class Faults:
    """Which fault happens at which kind of place, and where it has happened.

    ``who`` is the use case at work; with ``only`` no other one meets a fault.
    """

    fault: Fault
    points: frozenset[str]
    only: str = ""
    who: str = ""
    is_on: bool = True
    met: list[tuple[str, str]] = field(default_factory=list)

    @contextmanager
    def around(self, point: str, what: str) -> Iterator[None]:
        """Do something that may go wrong."""
        place = (self.who, f"{point} {what}")
        is_here = self.is_on and self.who != "" and point in self.points
        fault = self.choose(point, place) if is_here else None
        if fault is not None:
            self.met.append(place)
        if fault in IS_BEFORE:
            raise _error(fault, place)
        yield
        if fault is not None:
            raise _error(fault, place)

    def choose(self, point: str, place: tuple[str, str]) -> Fault | None:  # noqa: ARG002
        """Say what goes wrong at a place, if anything: each one once."""
        is_meant = self.only in {"", self.who} and place not in self.met
        return self.fault if is_meant else None


def _error(fault: Fault | None, place: tuple[str, str]) -> BaseException:
    if fault in IS_DEATH:
        return Death(str(place))
    error = Conflict if fault is Fault.LOSES_RACE else Unavailable
    return error(f"{fault}: {place}")


@dataclass(frozen=True, slots=True)
class FaultyStore:
    """A Store whose commits may go wrong."""

    store: Store
    faults: Faults

    def get(self, path: str) -> Document | None:
        """Read."""
        return self.store.get(path)

    def query(self, query: Query) -> list[Document]:
        """Read many."""
        return self.store.query(query)

    def commit(self, writes: Sequence[Write]) -> None:
        """Write; a commit that only makes documents has no race to lose."""
        is_race = any(isinstance(write, Replace | Guard) for write in writes)
        with self.faults.around("replace" if is_race else "make", _what(writes)):
            self.store.commit(writes)


@dataclass(frozen=True, slots=True)
class FaultyBus:
    """A Bus whose publishing may go wrong."""

    bus: Bus
    faults: Faults

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Hand over."""
        kinds = sorted({message.attributes.get("kind", "") for message in messages})
        with self.faults.around("publish", f"{topic} {kinds}"):
            self.bus.publish(topic, messages)


@dataclass(frozen=True, slots=True)
class FaultyBlobs:
    """A bucket whose writes may go wrong."""

    blobs: Blobs
    faults: Faults

    def get(self, name: str) -> Blob | None:
        """Read."""
        return self.blobs.get(name)

    def put(self, name: str, data: bytes, *, if_generation: int | None = None) -> int:
        """Write; each content of each object is a place of its own."""
        with self.faults.around("put", f"{name} {hash(data)}"):
            return self.blobs.put(name, data, if_generation=if_generation)

    def list(self, prefix: str, *, after: str = "") -> list[BlobInfo]:
        """List."""
        return self.blobs.list(prefix, after=after)


class FaultySlices:
    """A cloud whose answers may not come."""

    def __init__(self, slices: FakeSliceApi, faults: Faults) -> None:
        self._slices, self._faults = slices, faults

    def __getattr__(self, method: str) -> Any:
        """Call the cloud; what is asked for is the place."""

        def call(*arguments: Any) -> Any:
            names = [str(getattr(each, "name", each)) for each in arguments[:2]]
            with self._faults.around(method, " ".join(names)):
                return getattr(self._slices, method)(*arguments)

        return call


def _what(writes: Sequence[Write]) -> str:
    """Name a commit by what is written, without times and ids that change."""
    paths = {write.path.partition("/")[0] + ("/…" * write.path.count("/")) for write in writes}
    told = [_telling(write.fields) for write in writes if isinstance(write, Create | Replace)]
    return f"{sorted(paths)} {sorted(filter(None, told))}"


def _telling(fields: Mapping[str, Any]) -> str:
    """Say what a document says, as far as it tells one place of a story from another."""
    if "generations" not in fields:
        names = ("stage", "outcome", "phase", "event")
        return " ".join(str(fields[name]) for name in names if name in fields)
    bids = [
        (bid["stage"], bid["verdict"], bool(bid["condemned_at"]), bool(bid["deleted_at"]))
        for generation in fields["generations"]
        for bid in generation["bids"]
    ]
    orders = [
        (each["mandate"]["sequence"], each["mandate"]["written"]) for each in fields["generations"]
    ]
    return f"{fields['generation']} {orders} {bids}"


def broken(app: App, slices: FakeSliceApi, faults: Faults) -> dict[str, Any]:
    """Put faults between an app and its ports; return what to replace in it."""
    return {
        "store": FaultyStore(app.store, faults),
        "bus": FaultyBus(app.bus, faults),
        "blobs": FaultyBlobs(app.blobs, faults),
        "slices": FaultySlices(slices, faults),
    }
