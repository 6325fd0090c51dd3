"""The budget of requests in a minute, cut into shares that are written by few at once.

One counter would be written by everybody in a storm, and a document stands about one write a
second. So a minute's budget lies in several documents: whoever takes from one writes it by
compare-and-set, and what all of them gave in a calendar minute is never more than the budget,
whatever is repeated. A write whose reply was lost costs a place that nobody uses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.core.policy import Policy

# A share of the default budget is written every ten seconds.
_SHARE = 6
SHARES_MAX = 50
# A request takes a second or two; whoever has not made it by now has died.
_ASKING = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Share:
    """The document ``rate/{number}``: how many places of its last minute were taken.

    ``asking`` says who took one a moment ago, and when: what is delivered twice need not ask twice.
    """

    minute: datetime
    taken: int
    summary: str = ""
    asking: Mapping[str, datetime] = field(default_factory=dict)


def shares(per_minute: int) -> int:
    """Say into how many documents a budget is cut."""
    return min(max(1, ceil(per_minute / _SHARE)), SHARES_MAX)


def size(per_minute: int, number: int) -> int:
    """Say how many places one share has in a minute; all of them together have the budget."""
    count = shares(per_minute)
    return per_minute // count + (number < per_minute % count)


def left(share: Share | None, places: int, at: datetime) -> int:
    """Say how many places are left; of a time before its last minute a share knows no other."""
    is_over = share is None or share.minute < _minute(at)
    return places if is_over or share is None else max(0, places - share.taken)


def is_asking(share: Share | None, name: str, at: datetime, policy: Policy) -> bool:
    """Tell whether somebody took a place for a name so lately that they may still use it."""
    taken_at = share.asking.get(name) if share is not None else None
    # Half of what an intent waits: a request that failed may be made again when it is due.
    most = min(_ASKING, timedelta(seconds=policy.intent_due_s / 2))
    return taken_at is not None and at - taken_at < most


def take(share: Share | None, places: int, at: datetime, name: str) -> Share | None:
    """Take one place for a name; None when there is none left."""
    free = left(share, places, at)
    if free == 0:
        return None
    minute = max(share.minute, _minute(at)) if share else _minute(at)
    taken = places - free + 1
    text = f"{taken} of {places} requests in the minute from {minute:%Y-%m-%d %H:%M} UTC"
    known = share.asking if share is not None else {}
    asking = {each: since for each, since in known.items() if at - since < _ASKING}
    return Share(minute, taken, text, {**asking, name: at})


def home_of(name: str, count: int) -> int:
    """Say at which share somebody begins to look: others begin elsewhere."""
    return int.from_bytes(sha256(name.encode()).digest()[:8]) % count


def chance_of(name: str, turn: int) -> float:
    """Return a number from 0 up to 1 that differs from name to name, always the same one."""
    digest = sha256(f"{turn} {name}".encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def backoff_s(tries: int, first_s: float, most_s: float, chance: float) -> float:
    """Return how long to wait after so many failures, in seconds: growing, bounded, spread.

    ``chance`` takes away up to a quarter.
    """
    whole = min(first_s * 2 ** min(max(0, tries - 1), 30), max(first_s, most_s))
    return float(whole * (1 - chance / 4))


def _minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
