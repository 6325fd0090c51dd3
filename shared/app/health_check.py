"""health_check: the tick. Observe from outside, and make up for every message that was lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from shared.app.context import App
from shared.app.gate import call_up
from shared.app.messages import MessageKind, Wake, message, wake_launch, wake_recovery
from shared.app.observing import Look, look_at, observation, says_news
from shared.app.orphans import report_orphans
from shared.app.relay import relay_old, waiting_since
from shared.app.seal import find_seal
from shared.app.settle import settle
from shared.app.silence import CANARY, canary_gap, mass_silence
from shared.app.stored import SLICES_MAX, live_slices, read_slices, written
from shared.app.troubles import follow_troubles
from shared.app.unseen import Sight, follow_unseen
from shared.app.zones import due_zones, is_turn_of_quiet, zones_of
from shared.core.cloud import CloudRequest, Listing
from shared.core.slices import Bid, BidStage, Slice
from shared.deadline import MARGIN_S
from shared.errors import ControlPlaneError
from shared.log import TICK as TICK_LOG
from shared.log import context, get
from shared.ports import Fields, Query, Replace, Where
from shared.topology import Topic

TICK = "control/tick"
# An event that is older than this was not relayed by whoever committed it.
OUTBOX_AGE_S = 1.0
_Found: TypeAlias = Mapping[str, CloudRequest]
_log = get("health_check")
_tick_log = get(TICK_LOG)


@dataclass(slots=True)
class _Tick:
    """One tick: when it began by the Store's clock, and its account of itself.

    ``before`` is when the last one began, ``after`` the slice after which it ran out of time.
    ``troubles`` is what did not work, by what it is.
    """

    at: datetime
    before: datetime | None = None
    after: str = ""
    outbox_age_s: float = 0.0
    slices: int = 0
    problems: int = 0
    troubles: dict[str, str] = field(default_factory=dict)
    sight: Sight = field(default_factory=Sight)


def run(app: App, *, limit_s: float = math.inf) -> None:
    """One tick.  Each part runs whatever becomes of the others.

    ``limit_s`` is when whoever calls gives it up: what is not done by then, the next tick does.
    Where the documents are sealed nothing is looked at: half an installation looks like orphans.
    """
    seal = find_seal(app.store)
    if seal is not None:
        _log.warning("no tick: sealed, %s", seal.summary)
        return
    timed = replace(app, deadline=app.deadline.within(limit_s - MARGIN_S))
    tick = _begin(timed)
    for part in (_canary, _relay, _due, _call_up, _observe, _unseen, _tell_troubles):
        try:
            timed.deadline.check()
            part(timed, tick)
        except ControlPlaneError as error:
            tick.problems += 1
            tick.troubles[part.__name__.strip("_")] = str(error)
            _log.warning("%s: %s", part.__name__.strip("_"), error)
    _tick_log.info(
        "tick",
        extra={
            "outbox_age_s": tick.outbox_age_s,
            "slices": tick.slices,
            "problems": tick.problems,
        },
    )


def _begin(app: App) -> _Tick:
    """Write that a tick began, and read where the last one stopped."""
    document = app.store.get(TICK)
    now = document.read_at if document else app.clock.now()
    fields: Fields = {"summary": f"the last tick began at {now:%Y-%m-%d %H:%M:%S} UTC", "at": now}
    app.store.commit([written(TICK, fields, document)])
    last = document.fields if document else {}
    before = last.get("at")
    return _Tick(now, before if isinstance(before, datetime) else None, str(last.get("after", "")))


def _canary(app: App, tick: _Tick) -> None:
    """Send a message the way that agents do: silence counts only while these come through."""
    app.bus.publish(Topic.REPORTS, [message(MessageKind.CANARY, {"at": tick.at.isoformat()})])


def _relay(app: App, tick: _Tick) -> None:
    """Publish what was committed and not published."""
    oldest_at = waiting_since(app)
    if oldest_at is None:
        return
    tick.outbox_age_s = max(0.0, (tick.at - oldest_at).total_seconds())
    count = relay_old(app, tick.at - timedelta(seconds=OUTBOX_AGE_S))
    if count:
        _log.info("relayed %d events", count)


def _due(app: App, tick: _Tick) -> None:
    """Wake the owners of whatever waits for something that should have come by now."""
    due = Where("due_at", "<=", tick.at)
    slices = read_slices(app.store, Query("slices", (due,), order_by="due_at", limit=SLICES_MAX))
    _wake(app, [wake_launch(each.name, "due") for each in slices])
    # While an attempt runs and nothing else is under way, capacity is as it should be.
    _wake(app, [wake_recovery(each.name, "due") for each in slices if not each.is_at_work])


def _call_up(app: App, tick: _Tick) -> None:
    """Let the first of those that wait to be asked for have the places of this minute."""
    called = call_up(app, tick.at)
    if called.count:
        _log.info("called up %d slices", called.count)
    if called.refusal:
        tick.troubles["requests"] = f"the cloud refuses all requests for slices: {called.refusal}"


def _observe(app: App, tick: _Tick) -> None:
    """List the cloud, then read the slices, and write down where they differ."""
    live = live_slices(app.store)
    quiet_too = is_turn_of_quiet(tick.before, tick.at, app.policy.tick_s)
    tick.sight.slices = live
    busy = {zone for slice_ in live for zone in zones_of(slice_)}
    zones = due_zones(app.store, busy, tick.at, quiet_too=quiet_too)
    if not zones:
        return
    listing = tick.sight.listing = app.slices.list(zones)
    for problem in listing.problems:
        tick.problems += 1
        tick.troubles["listing"] = f"the cloud is not listed as a whole: {problem}"
        _log.warning("listing: %s", problem)
    slices = live_slices(app.store)
    tick.slices = len(slices)
    if not _observe_all(app, slices, listing, tick):
        return
    report_orphans(app, listing.requests, slices)


def _observe_all(app: App, slices: Sequence[Slice], listing: Listing, tick: _Tick) -> bool:
    """Look at all slices, first at those that the last tick left; False when the time is up."""
    found = {request.name: request for request in (*listing.others, *listing.requests)}
    last = tick.after
    for slice_ in sorted(slices, key=lambda each: (each.name <= tick.after, each.name)):
        if app.deadline.is_over:
            _log.warning("the tick stops after slice %s: its time is up", last)
            _stop_after(app, last)
            return False
        with context(slice=slice_.name):
            problem = _observe_slice(app, slice_, found, listing.complete, tick.at)
        if problem:
            tick.problems += 1
            tick.sight.failed[slice_.name] = problem
        last = slice_.name
    tick.sight.is_whole = True
    return True


def _observe_slice(
    app: App, slice_: Slice, found: _Found, complete: frozenset[str], at: datetime
) -> str:
    """Look at one slice; the trouble of one hides no other.  Return what it was, or nothing."""
    try:
        looks = _looks(app, slice_, found, complete)
        if looks and not (slice_.is_at_work and _is_unchanged(slice_, looks, at)):
            settle(app, slice_.name, who="health_check", change=observation(looks, at))
    except ControlPlaneError as error:
        _log.warning("%s is not observed: %s", slice_.name, error)
        return str(error) or type(error).__name__
    return ""


def _is_unchanged(slice_: Slice, looks: Mapping[str, Look], at: datetime) -> bool:
    """Nothing is due, and the cloud is as it was: most looks find that, and read nothing more."""
    is_due = slice_.due_at is not None and slice_.due_at <= at
    return not is_due and not says_news(slice_, looks, at)


def _stop_after(app: App, name: str) -> None:
    """Leave a note of where to go on: or the same slices would be left by every tick."""
    document = app.store.get(TICK)
    if document is not None:
        app.store.commit([Replace(TICK, {**document.fields, "after": name}, document.token)])


def _looks(app: App, slice_: Slice, found: _Found, complete: frozenset[str]) -> Mapping[str, Look]:
    """What the listing says of a slice's bids; what it misses is asked for directly."""
    looks: dict[str, Look] = {}
    for bid in _bids(slice_):
        if bid.gone_at is not None:
            continue
        if bid.name in found:
            looks[bid.name] = found[bid.name]
        elif bid.zone in complete and _may_be_missed(bid):
            looks.update(_ask(app, bid))
    return looks


def _may_be_missed(bid: Bid) -> bool:
    """A bid that nobody asked for yet is not missing."""
    return bid.stage is not BidStage.INTENDED or bid.is_condemned


def _ask(app: App, bid: Bid) -> Mapping[str, Look]:
    """Look directly: only a true 404 is absence, and a create may take its time."""
    if bid.stage is BidStage.REQUESTED and bid.operation:
        error = app.slices.operation_error(bid.operation)
        if error:
            return {bid.name: error}
    return {bid.name: look_at(app.slices, bid)}


def _unseen(app: App, tick: _Tick) -> None:
    """Tell owners of slices that could not be looked at for long."""
    follow_unseen(app, tick.sight, tick.at)


def _tell_troubles(app: App, tick: _Tick) -> None:
    """Tell people of what has not worked for a while."""
    heard = app.store.get(CANARY)
    if heard is not None and heard.read_at - heard.updated_at > canary_gap(app):
        tick.troubles["reports"] = "reports of hosts do not come through"
    silent = mass_silence(app) if tick.sight.slices else ""
    if silent:
        tick.troubles["hosts"] = silent
    follow_troubles(app, tick.troubles, tick.at)


def _bids(slice_: Slice) -> list[Bid]:
    return [bid for generation in slice_.generations for bid in generation.bids]


def _wake(app: App, wakes: Sequence[Wake]) -> None:
    if wakes:
        app.bus.publish(wakes[0].topic, [wake.message() for wake in wakes])
