"""Whether a webhook is told an alert now: once, not too often, and not while it is down.

An alert that has to wait is held: its message comes again, and whichever comes when the webhook
may be told something takes all that is held along as a summary. So a storm becomes one message,
and nothing that was held is forgotten, not even after a webhook was down for days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from shared.core.alert_routes import Target

# The numbers of the jobs that were held back, by kind of alert (0 where it was about no job).
Held: TypeAlias = Mapping[str, tuple[int, ...]]

# Whoever posts has this long; then it is thought to be dead, and another one may post again.
CLAIM_S = 30.0
# Two posts to one webhook about one owner do not overlap; the second looks again soon.
BUSY_AGAIN_S = 1.0
# A webhook that fails is left alone for this long, twice as long each time.
QUIET_S_MIN, QUIET_S_MAX = 2.0, 300.0
# An alert that could not be told for this long is not tried any more; the next one counts it.
GIVE_UP_S = 3600.0
# How long it is known that an alert was told: far longer than a message can be redelivered.
KEPT = timedelta(days=14)


class TellingState(StrEnum):
    """How far telling one webhook one alert has come."""

    NEW = "new"
    POSTING = "posting"
    HELD = "held"
    POSTED = "posted"
    SUMMED_UP = "summed up"
    DROPPED = "dropped"


_OVER = frozenset({TellingState.POSTED, TellingState.SUMMED_UP, TellingState.DROPPED})


@dataclass(frozen=True, slots=True)
class Telling:
    """One alert and one webhook.  ``place`` is its place among all that was ever held, from 1."""

    summary: str
    alert: str
    kind: str
    number: int
    target: str
    owner: str
    first_at: datetime
    at: datetime
    expires_at: datetime
    state: TellingState = TellingState.NEW
    place: int = 0


@dataclass(frozen=True, slots=True)
class Bucket:
    """One webhook and one owner: what it may still be told, and what waits.

    ``held_ever`` counts what was held, ``told_to`` says up to which of them all were told.
    """

    summary: str
    target: str
    owner: str
    tokens: float
    at: datetime
    expires_at: datetime
    held: Held = field(default_factory=dict)
    held_ever: int = 0
    told_to: int = 0
    failures: int = 0
    busy_until: datetime | None = None
    quiet_until: datetime | None = None
    posted: int = 0
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """What to do: post (with ``more`` that was held), or wait for some seconds, or neither."""

    telling: Telling
    bucket: Bucket
    posts: bool = False
    after_s: float | None = None
    more: Held = field(default_factory=dict)


def admit(target: Target, telling: Telling, bucket: Bucket, now: datetime) -> Step:
    """Decide what becomes of an alert that was delivered."""
    if telling.state in _OVER:
        return Step(telling, bucket)
    if 0 < telling.place <= bucket.told_to:
        return Step(replace(telling, state=TellingState.SUMMED_UP, at=now), bucket)
    if bucket.busy_until is not None and now < bucket.busy_until:
        return Step(telling, bucket, after_s=BUSY_AGAIN_S)
    bucket = _refilled(target, bucket, now)
    is_old = _is_old(telling, now)
    if bucket.quiet_until is not None and now < bucket.quiet_until:
        if is_old:
            return _drop(telling, bucket, now)
        return _hold(telling, bucket, now, after_s=(bucket.quiet_until - now).total_seconds())
    if bucket.tokens < 1 and not is_old:
        after_s = (1 - bucket.tokens) * 3600 / target.posts_per_hour
        return _hold(telling, bucket, now, after_s=after_s)
    return _post(telling, bucket, now)


def posted(step: Step, telling: Telling, bucket: Bucket, now: datetime) -> Step:
    """Note that a post arrived, with everything that it took along."""
    claimed = step.bucket
    bucket = replace(
        bucket,
        held=_without(bucket.held, claimed.held),
        told_to=max(bucket.told_to, claimed.held_ever),
        failures=0,
        busy_until=None,
        quiet_until=None,
        posted=bucket.posted + 1,
    )
    telling = replace(telling, state=TellingState.POSTED, at=now)
    return Step(telling, _dated(bucket, now))


def failed(telling: Telling, bucket: Bucket, now: datetime, *, after_s: float) -> Step:
    """Note that a post did not arrive: the webhook is left alone, at least for ``after_s``."""
    doublings = min(bucket.failures, 16)  # beyond that the maximum is long reached
    quiet_s = max(min(QUIET_S_MIN * 2**doublings, QUIET_S_MAX), after_s)
    until = now + timedelta(seconds=quiet_s)
    bucket = replace(bucket, failures=bucket.failures + 1, busy_until=None, quiet_until=until)
    if _is_old(telling, now):
        return _drop(telling, bucket, now)
    return _hold(telling, bucket, now, after_s=quiet_s)


def _post(telling: Telling, bucket: Bucket, now: datetime) -> Step:
    """Claim the webhook.  What the alert itself put among the held is no part of the rest."""
    busy_until = now + timedelta(seconds=CLAIM_S)
    bucket = replace(bucket, tokens=max(0.0, bucket.tokens - 1), busy_until=busy_until)
    own = {telling.kind: (telling.number,)} if telling.place else {}
    return Step(
        replace(telling, state=TellingState.POSTING, at=now),
        _dated(bucket, now),
        posts=True,
        more=_without(bucket.held, own),
    )


def _hold(telling: Telling, bucket: Bucket, now: datetime, *, after_s: float) -> Step:
    if telling.place == 0:
        numbers = (*bucket.held.get(telling.kind, ()), telling.number)
        bucket = replace(
            bucket,
            held={**bucket.held, telling.kind: numbers},
            held_ever=bucket.held_ever + 1,
        )
        telling = replace(telling, place=bucket.held_ever)
    telling = replace(telling, state=TellingState.HELD, at=now)
    return Step(telling, _dated(bucket, now), after_s=after_s)


def _is_old(telling: Telling, now: datetime) -> bool:
    return (now - telling.first_at).total_seconds() >= GIVE_UP_S


def _drop(telling: Telling, bucket: Bucket, now: datetime) -> Step:
    """Try no more; it stays among the held, so that the next message counts it."""
    held = _hold(telling, replace(bucket, dropped=bucket.dropped + 1), now, after_s=0.0)
    return Step(replace(held.telling, state=TellingState.DROPPED), held.bucket)


def _refilled(target: Target, bucket: Bucket, now: datetime) -> Bucket:
    passed_s = max(0.0, (now - bucket.at).total_seconds())
    tokens = min(float(target.burst), bucket.tokens + passed_s * target.posts_per_hour / 3600)
    return replace(bucket, tokens=tokens, at=now)


def _without(held: Held, told: Held) -> Held:
    """Take away, of each kind, as many of the same numbers as were told."""
    left: dict[str, tuple[int, ...]] = {}
    for kind, numbers in held.items():
        kept = list(numbers)
        for number in told.get(kind, ()):
            if number in kept:
                kept.remove(number)
        if kept:
            left[kind] = tuple(kept)
    return left


def _dated(bucket: Bucket, now: datetime) -> Bucket:
    waiting = sum(len(numbers) for numbers in bucket.held.values())
    state = f"down after {bucket.failures} tries, " if bucket.failures else ""
    summary = f"{state}{bucket.posted} posted, {waiting} waiting, {bucket.dropped} given up"
    return replace(bucket, summary=summary, expires_at=now + KEPT)
