"""What is asked right before a request is made, and who is called up to make the next ones.

Nothing here is an error: a bid that may not be asked for yet stays intended, says why, and is
looked at again when it is called up or when its time has come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.app import caps
from shared.app.context import App
from shared.app.messages import wake_recovery
from shared.app.pause import find_pause
from shared.app.rates import places_left, take_place
from shared.app.stored import SLICES_MAX, written
from shared.core import gate as rules
from shared.core.codec import from_fields, to_fields
from shared.core.gate import EVERYBODY, Gate
from shared.core.grants import need_of
from shared.core.rates import backoff_s, chance_of
from shared.core.schedule import turn
from shared.core.situation import Situation
from shared.core.slices import Bid, Generation
from shared.errors import Conflict, QuotaExceeded, RateLimited, Retryable
from shared.log import get
from shared.ports import Document, Query, Store, Where
from shared.topology import Topic

GATE = "control/creates"
_TRIES_MAX = 5
_log = get("gate")


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a bid is not asked for now.  ``until`` is None for one that is called up."""

    text: str
    until: datetime | None = None
    tries: int = 0


def read_gate(store: Store) -> Gate:
    """Read whose turn it is, and what is stopped.  Raises Unavailable."""
    return _parsed(store.get(GATE))


def wait_before_create(app: App, now: Situation, generation: Generation, bid: Bid) -> Wait | None:
    """Say why a bid must not be asked for now; None when a place was taken for this request.

    Raises Unavailable.  What is asked last is what costs: a place in the minute's budget.
    """
    paused = find_pause(app.store)
    if paused is not None:
        return Wait(paused.text)
    gate = read_gate(app.store)
    wait = _stopped(app, gate, now, bid) or _over_caps(app, now, bid)
    if wait is not None:
        return wait
    mine = turn(now, generation, bid)
    may_pass = rules.is_called(gate, mine, now.now) or _fits_behind_others(app, mine, now.now)
    if may_pass and take_place(app, bid.name):
        return None
    return Wait(f"waits for its turn: {app.limits.creates_per_minute} requests a minute are made")


def wait_after_failure(app: App, now: Situation, bid: Bid, error: Retryable) -> Wait:
    """Say when to ask again after the cloud did not accept a request, and stop others if need be.

    Our own request that is still being deleted holds its quota: that says nothing about others.
    """
    if isinstance(error, RateLimited):
        _change(app, lambda gate: rules.stop_all(gate, str(error), now.now, app.policy))
        return Wait(f"too many requests: {error}")
    if isinstance(error, QuotaExceeded) and not _holds_quota(now, bid):
        need = need_of(app.catalog, bid.accelerator_type, bid.tier)
        gate = _change(
            app,
            lambda gate: rules.stop_quota(
                gate, need, bid.zone, why=str(error), now=now.now, policy=app.policy
            ),
        )
        stop = rules.quota_of(gate, need, bid.zone, now.now)
        if stop is not None:
            return Wait(str(error), _spread(app, bid, stop.until))
    return later(app, now, bid, str(error))


def later(app: App, now: Situation, bid: Bid, text: str, *, grows: bool = True) -> Wait:
    """Try again after a while, and after a longer one each time it ``grows``."""
    tries = bid.tries + 1 if grows else bid.tries
    # A delete costs nothing, and what is not deleted does.
    first_s = app.policy.tick_s if bid.is_condemned else app.policy.intent_due_s
    chance = chance_of(bid.name, tries)
    wait_s = backoff_s(tries if grows else 1, first_s, app.policy.retry_s_max, chance)
    return Wait(text, now.later(wait_s), tries)


@dataclass(frozen=True, slots=True)
class Called:
    """How many were called up, and why requests are refused, if they are."""

    count: int = 0
    refusal: str = ""


def call_up(app: App, at: datetime) -> Called:
    """Wake the first of those that wait, as many as there are places.

    Idempotent: who was called up twice takes one place.
    """
    most = min(app.limits.creates_per_minute, SLICES_MAX)
    waiting = _line(app.store, most)
    if not waiting or find_pause(app.store):
        return Called()
    gate = read_gate(app.store)
    refusal = rules.refusal_of(gate, at, app.policy)
    called = [] if rules.stop_of(gate, at) else waiting[: places_left(app, at)]
    if not called:
        return Called(refusal=refusal)
    is_all = len(called) == len(waiting) < most
    up_to = EVERYBODY if is_all else str(called[-1].fields["turn"])
    _change(app, lambda gate: rules.call_up(gate, up_to, at))
    wakes = [wake_recovery(str(found.fields["name"]), "its turn") for found in called]
    app.bus.publish(Topic.PREEMPTIONS, [wake.message() for wake in wakes])
    return Called(len(called), refusal)


def _stopped(app: App, gate: Gate, now: Situation, bid: Bid) -> Wait | None:
    stop = rules.stop_of(gate, now.now)
    if stop is not None:
        return Wait(f"nothing is asked for until {stop.until:%H:%M:%S} UTC: {stop.why}")
    need = need_of(app.catalog, bid.accelerator_type, bid.tier)
    stop = rules.quota_of(gate, need, bid.zone, now.now)
    return None if stop is None else Wait(stop.why, _spread(app, bid, stop.until), bid.tries)


def _over_caps(app: App, now: Situation, bid: Bid) -> Wait | None:
    text = caps.over_at_effect(app, now.slice)
    return later(app, now, bid, text, grows=False) if text else None


def _fits_behind_others(app: App, mine: str, at: datetime) -> bool:
    """Nobody waits with an earlier turn, or there are places for all of them and one more."""
    ahead = (_IN_LINE, Where("turn", "<", mine))
    if not app.store.query(Query("slices", ahead, order_by="turn", limit=1)):
        return True
    places = min(places_left(app, at), SLICES_MAX)
    if places <= 1:
        return False
    return len(app.store.query(Query("slices", ahead, order_by="turn", limit=places))) < places


def _holds_quota(now: Situation, bid: Bid) -> bool:
    """Something of the same slice is still being deleted there."""
    return any(
        old.zone == bid.zone and old.is_condemned and old.gone_at is None
        for generation in now.slice.generations
        for old in generation.bids
    )


def _spread(app: App, bid: Bid, until: datetime) -> datetime:
    """Do not let everybody come back at the same moment."""
    return until + timedelta(seconds=app.policy.intent_due_s * chance_of(bid.name, bid.tries))


def _line(store: Store, most: int) -> list[Document]:
    return store.query(Query("slices", (_IN_LINE,), order_by="turn", limit=most))


def _change(app: App, change: Callable[[Gate], Gate]) -> Gate:
    """Change the document, on top of whatever others made of it meanwhile."""
    gate = Gate()
    for _ in range(_TRIES_MAX):
        document = app.store.get(GATE)
        before = _parsed(document)
        gate = change(before)
        if document is not None and gate == before:
            return gate
        try:
            app.store.commit([written(GATE, to_fields(gate), document)])
        except Conflict:
            continue
        return gate
    _log.warning("%s is written by too many at once", GATE)
    return gate


def _parsed(document: Document | None) -> Gate:
    return from_fields(Gate, document.fields) if document else Gate()


_IN_LINE = Where("turn", ">", "")
