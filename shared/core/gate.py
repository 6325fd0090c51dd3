"""Who may ask the cloud for something now: the line, and what stops everybody.

A bid that finds no place in the minute's budget stands in line, in the order of its slice's
``turn``. The tick calls up as many of the first as there are places; whoever comes fresh passes
only when nobody waits ahead. A stop is for all, or for all that need as much in the same zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from shared.core.rates import backoff_s

if TYPE_CHECKING:
    from shared.core.grants import Need
    from shared.core.policy import Policy

# Every turn sorts before it.
EVERYBODY = "~"
# What was called up may pass for so long: until the next minute's tick calls others.
CALLED_S = 60.0
PRIORITY_MAX = 100
# What a sentence about a stop keeps of what the cloud said.
_WHY_CHARS = 200


@dataclass(frozen=True, slots=True)
class Stop:
    """The cloud said that it is enough.  ``chips``: the least that it is about."""

    since: datetime
    until: datetime
    tries: int
    why: str
    chips: int = 0


@dataclass(frozen=True, slots=True)
class Gate:
    """The document ``control/creates``: whose turn it is, and what is stopped.

    Whoever has a turn of at most ``up_to`` was called up at ``called_at``. ``quotas`` is by what
    the quota is for (``quota_key``).
    """

    summary: str = "requests are made"
    called_at: datetime | None = None
    up_to: str = ""
    stopped: Stop | None = None
    quotas: Mapping[str, Stop] = field(default_factory=dict)


def turn_of(priority: int, since: datetime, name: str) -> str:
    """Write a place in the line so that texts sort by priority, then by age."""
    return f"{PRIORITY_MAX - priority:03d} {since:%Y-%m-%dT%H:%M:%S.%f} {name}"


def is_called(gate: Gate, turn: str, now: datetime) -> bool:
    """Tell whether somebody was called up and may still pass."""
    if gate.called_at is None or turn > gate.up_to:
        return False
    return (now - gate.called_at).total_seconds() < CALLED_S


def call_up(gate: Gate, up_to: str, now: datetime) -> Gate:
    """Call up everybody whose turn is at most this one; the same call once more is none."""
    is_fresh = gate.called_at is not None and (now - gate.called_at).total_seconds() < CALLED_S / 2
    if is_fresh and gate.up_to == up_to:
        return gate
    return _told(replace(gate, up_to=up_to, called_at=now), now)


def quota_key(need: Need, zone: str) -> str:
    """Name what a quota is for: chips of one generation and tier in a zone."""
    return f"{zone} {need.accelerator} {need.tier}"


def stop_of(gate: Gate, now: datetime) -> Stop | None:
    """Return what stops everybody, if anything does."""
    return gate.stopped if gate.stopped is not None and now < gate.stopped.until else None


def refusal_of(gate: Gate, now: datetime, policy: Policy) -> str:
    """Say why requests are refused, for as long as one stop follows another; "" when they are not.

    Between two stops somebody has to be called up, and to ask.
    """
    stop, gap_s = gate.stopped, 2 * policy.tick_s + policy.intent_due_s
    is_over = stop is None or (now - stop.until).total_seconds() >= gap_s
    return "" if stop is None or is_over else stop.why


def quota_of(gate: Gate, need: Need, zone: str, now: datetime) -> Stop | None:
    """Return what stops those who need as much in a zone, if anything does."""
    stop = gate.quotas.get(quota_key(need, zone))
    return stop if stop is not None and now < stop.until and need.chips >= stop.chips else None


def stop_all(gate: Gate, why: str, now: datetime, policy: Policy) -> Gate:
    """Stop everybody: too many requests say nothing about a zone."""
    return _told(replace(gate, stopped=_stopped(gate.stopped, why, now, policy, chips=0)), now)


def stop_quota(
    gate: Gate, need: Need, zone: str, *, why: str, now: datetime, policy: Policy
) -> Gate:
    """Stop those who need as much of what is used up in a zone; forget what is long over."""
    key, oldest = quota_key(need, zone), now - timedelta(seconds=2 * policy.retry_s_max)
    kept = {name: stop for name, stop in gate.quotas.items() if stop.until > oldest}
    old = kept.get(key)
    chips = min(need.chips, old.chips) if old is not None else need.chips
    stop = _stopped(old, why, now, policy, chips=chips)
    return _told(replace(gate, quotas={**kept, key: stop}), now)


def _stopped(old: Stop | None, why: str, now: datetime, policy: Policy, *, chips: int) -> Stop:
    """Stop for a while, longer when the last stop was not long enough.

    Whoever asked before the stop and hears of it now makes it no longer.
    """
    if old is not None and now < old.until:
        return replace(old, chips=chips)
    rest_s = timedelta(seconds=policy.retry_s_max)
    tries = old.tries + 1 if old is not None and now < old.until + rest_s else 1
    wait_s = backoff_s(tries, policy.intent_due_s, policy.retry_s_max, 0.0)
    return Stop(now, now + timedelta(seconds=wait_s), tries, why, chips)


def _told(gate: Gate, now: datetime) -> Gate:
    stops = {"everything": gate.stopped, **gate.quotas}
    told = [
        f"{what} until {stop.until:%H:%M:%S} UTC: {stop.why[:_WHY_CHARS]}"
        for what, stop in stops.items()
        if stop is not None and now < stop.until
    ]
    return replace(
        gate, summary="; ".join(["nothing is asked for", *told]) if told else Gate().summary
    )
