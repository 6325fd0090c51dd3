"""What can be done about a message that was put aside, by the subscription that it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Way(StrEnum):
    """How a parked message is handed over again."""

    ORDER = "order"
    EVENT = "event"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Advice:
    """How, on which topic (of events only), and what to tell people of it."""

    way: Way
    text: str
    topic: str = ""


_TICK = "the tick has woken it since; once the bug is gone an admin may send it again"
_ADVICE: Final[Mapping[str, Advice]] = {
    "launch-commands": Advice(
        Way.ORDER, "whoever gave it may give it again: nobody else can prove that they want it"
    ),
    "launch": Advice(Way.EVENT, _TICK, "launches"),
    "recovery": Advice(Way.EVENT, _TICK, "preemptions"),
    "report": Advice(
        Way.NONE,
        "a host's report lost its token when it was put aside, and hosts repeat themselves",
    ),
    "report-audit": Advice(
        Way.NONE, "only Google writes to its audit log, and the tick looks at what it told of"
    ),
    "alert": Advice(Way.EVENT, "nobody was told; an admin may send it again", "alerts"),
}
SUBSCRIPTIONS: Final = frozenset(_ADVICE)
_UNKNOWN: Final = Advice(Way.NONE, "this version knows no subscription of that name")


def subscription_of(source: str) -> str:
    """Name a subscription without the prefix that it has in Google Cloud."""
    found = [name for name in _ADVICE if f"-{source}".endswith(f"-{name}")]
    return max(found, key=len, default=source)


def advise(source: str) -> Advice:
    """Say what to do about a message that came by a subscription."""
    return _ADVICE.get(subscription_of(source), _UNKNOWN)
