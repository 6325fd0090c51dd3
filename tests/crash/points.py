"""Every call of a use case at a port is a point; at a chosen one, something goes wrong.

The tap sits between a use case and all its ports and counts. It knows no method by name, so what
a use case calls tomorrow is a point tomorrow: whatever is not known to be a read is an effect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from shared.app.context import App
from shared.deadline import Deadline
from shared.errors import (
    Busy,
    Conflict,
    ControlPlaneError,
    InvalidRequest,
    NoAccess,
    NotAuthorized,
    OutOfTime,
    QuotaExceeded,
    RateLimited,
    Stockout,
    Unavailable,
)
from tests.crash.faults import Death

PORTS = ("store", "bus", "blobs", "slices", "webhooks", "identity")
READS = frozenset({"find", "get", "query", "list", "operation_error", "person", "check", "is_over"})


class Fault(StrEnum):
    """What goes wrong at a point."""

    DIES_BEFORE = "dies before"
    DIES_AFTER = "dies after"
    REPLY_LOST = "reply lost"
    TWICE = "done twice"
    FAILS = "fails"


# An effect may have happened or not when its process is gone; a read leaves nothing behind.
ON_EFFECTS = (Fault.DIES_BEFORE, Fault.DIES_AFTER, Fault.REPLY_LOST, Fault.TWICE)
IS_DEATH = frozenset({Fault.DIES_BEFORE, Fault.DIES_AFTER})

_GOOGLE = (Unavailable, RateLimited, NotAuthorized, InvalidRequest)
_CLOUD = (*_GOOGLE, NoAccess)
_ANY = (*_CLOUD, Busy, Conflict, QuotaExceeded, Stockout)
# What each port says that it raises (shared/ports.py and the adapters); a call that is not here
# is new, and meets everything.
RAISES: Mapping[str, tuple[type[ControlPlaneError], ...]] = {
    "store.get": _GOOGLE,
    "store.query": _GOOGLE,
    "store.commit": (*_GOOGLE, Conflict),
    "bus.publish": _GOOGLE,
    "blobs.get": _GOOGLE,
    "blobs.list": _GOOGLE,
    "blobs.put": (*_GOOGLE, Conflict),
    "slices.create": (*_CLOUD, Busy, QuotaExceeded, Stockout),
    "slices.delete": (*_CLOUD, Busy),
    "slices.find": _CLOUD,
    "slices.get": _CLOUD,
    "slices.list": _CLOUD,
    "slices.operation_error": _CLOUD,
    "slices.remove": (*_CLOUD, Busy),
    "slices.ring": (*_CLOUD, Busy),
    "webhooks.post": (Unavailable, RateLimited),
    "identity.person": (Unavailable, NotAuthorized),
    "deadline.check": (OutOfTime,),
    "deadline.is_over": (OutOfTime,),
}


@dataclass(frozen=True, slots=True)
class Point:
    """What goes wrong, at which call of a use case; ``call`` says which one that is."""

    number: int
    call: str
    fault: Fault
    error: type[ControlPlaneError] | None = None

    def __str__(self) -> str:
        error = f" with {self.error.__name__}" if self.error else ""
        return f"{self.number} {self.call} {self.fault}{error}"


@dataclass(slots=True)
class Tap:
    """Counts the calls of one invocation, and does to one of them what ``point`` says.

    ``hit`` is the call that it really happened to.
    """

    point: Point | None = None
    calls: list[str] = field(default_factory=list)
    hit: str = ""
    is_late: bool = False

    def call(self, name: str, do: Callable[[], Any]) -> Any:
        """Make a call, in the way that was chosen for it."""
        self.calls.append(name)
        point = self.point
        if point is None or point.number != len(self.calls) - 1:
            return do()
        self.hit = name
        match point.fault:
            case Fault.FAILS:
                raise self._error(point)
            case Fault.DIES_BEFORE:
                raise Death(str(point))
            case Fault.TWICE:
                do()
                return do()
        do()
        raise Death(str(point)) if point.fault is Fault.DIES_AFTER else Unavailable(told(point))

    def check_time(self, name: str) -> bool:
        """Say whether the time is up; once it is, it stays so."""
        self.calls.append(name)
        if self.point is not None and self.point.number == len(self.calls) - 1:
            self.hit, self.is_late = name, True
        return self.is_late

    def _error(self, point: Point) -> ControlPlaneError:
        assert point.error is not None, "what fails, fails with an error"
        return make_error(point.error, told(point))


def told(point: Point) -> str:
    """Say what an error says: the same words that a job must give as its reason."""
    return f"injected: {point.call}"


def make_error(kind: type[ControlPlaneError], text: str) -> ControlPlaneError:
    """Make an error of a class; some of them want to know more."""
    return Stockout(text, zone="us-central2-b", after_s=1.0) if kind is Stockout else kind(text)


class Tapped:
    """A port whose every call goes through a tap."""

    def __init__(self, name: str, port: Any, tap: Tap) -> None:
        self._name, self._port, self._tap = name, port, tap

    def __getattr__(self, method: str) -> Any:
        """Let the tap have the call, if it is one."""
        found = getattr(self._port, method)
        if not callable(found):
            return found
        name = f"{self._name}.{method}"
        return lambda *args, **named: self._tap.call(name, lambda: found(*args, **named))


@dataclass(frozen=True, slots=True)
class TappedDeadline(Deadline):
    """A time that is up where the tap says so."""

    tap: Tap = field(default_factory=Tap)

    def within(self, seconds: float) -> Self:  # noqa: ARG002
        """Let the tap alone say when."""
        return self

    @property
    def is_over(self) -> bool:
        """The time is up."""
        return self.tap.check_time("deadline.is_over")

    def check(self) -> None:
        """Raise OutOfTime when the time is up."""
        if self.tap.check_time("deadline.check"):
            raise OutOfTime("injected: the time is up")


def tapped(app: App, tap: Tap) -> App:
    """Put a tap between an app and everything that it stands on."""
    held = {name: getattr(app, name) for name in PORTS}
    ports: dict[str, Any] = {
        name: Tapped(name, port, tap) for name, port in held.items() if port is not None
    }
    return replace(app, **ports, deadline=TappedDeadline(tap=tap))


def is_effect(call: str) -> bool:
    """Tell whether a call may leave something behind."""
    return call.partition(".")[2] not in READS


def points_of(calls: list[str]) -> Iterator[Point]:
    """Enumerate everything that can go wrong in an invocation that made these calls."""
    for number, call in enumerate(calls):
        for fault in ON_EFFECTS if is_effect(call) else ():
            yield Point(number, call, fault)
        for error in RAISES.get(call, _ANY):
            yield Point(number, call, Fault.FAILS, error)
