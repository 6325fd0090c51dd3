"""health_check: the tick. Observe from outside, and make up for every message that was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

from shared.app.context import App
from shared.app.messages import MessageKind, Wake, message, wake_launch, wake_recovery
from shared.app.observing import Look, observation
from shared.app.orphans import report_orphans
from shared.app.relay import relay_old
from shared.app.settle import settle
from shared.core.cloud import CloudRequest
from shared.core.codec import from_fields
from shared.core.slices import Bid, BidStage, Slice
from shared.errors import ControlPlaneError, Unreadable
from shared.log import get
from shared.ports import Create, Fields, Query, Replace, Where
from shared.topology import Topic

TICK = "control/tick"
ZONES = "control/zones"
# How long a zone is swept after the last slice in it: far longer than the slowest create.
ZONE_S = 3600.0
SLICES_MAX = 1000
# An event that is older than this was not relayed by whoever committed it.
OUTBOX_AGE_S = 1.0
_Found: TypeAlias = Mapping[str, CloudRequest]
_log = get("health_check")


def run(app: App) -> None:
    """One tick.  Each part runs whatever becomes of the others."""
    at = _begin(app)
    for part in (_canary, _relay, _due, _observe):
        try:
            part(app, at)
        except ControlPlaneError as error:
            _log.warning("%s: %s", part.__name__.strip("_"), error)


def _begin(app: App) -> datetime:
    """Write that a tick began, and return the Store's time."""
    document = app.store.get(TICK)
    now = document.read_at if document else app.clock.now()
    write = Replace(TICK, {"at": now}, document.token) if document else Create(TICK, {"at": now})
    app.store.commit([write])
    return now


def _canary(app: App, at: datetime) -> None:
    """Send a message the way that agents do: silence counts only while these come through."""
    app.bus.publish(Topic.REPORTS, [message(MessageKind.CANARY, {"at": at.isoformat()})])


def _relay(app: App, at: datetime) -> None:
    """Publish what was committed and not published."""
    count = relay_old(app, at - timedelta(seconds=OUTBOX_AGE_S))
    if count:
        _log.info("relayed %d events", count)


def _due(app: App, at: datetime) -> None:
    """Wake the owners of whatever waits for something that should have come by now."""
    query = Query("slices", (Where("due_at", "<=", at),), order_by="due_at", limit=SLICES_MAX)
    names = [str(document.fields["name"]) for document in app.store.query(query)]
    _wake(app, [wake_launch(name, "due") for name in names])
    _wake(app, [wake_recovery(name, "due") for name in names])


def _observe(app: App, at: datetime) -> None:
    """List the cloud, then read the slices, and write down where they differ."""
    zones = _remembered(app, {zone for slice_ in _live(app) for zone in _zones(slice_)}, at)
    if not zones:
        return
    listing = app.slices.list(zones)
    for problem in listing.problems:
        _log.warning("listing: %s", problem)
    found = {request.name: request for request in listing.requests}
    slices = _live(app)
    for slice_ in slices:
        _observe_slice(app, slice_, found, listing.complete, at)
    known = frozenset(
        bid.name for slice_ in slices for bid in _bids(slice_) if bid.stage is not BidStage.GONE
    )
    report_orphans(app, listing.requests, known)


def _observe_slice(
    app: App, slice_: Slice, found: _Found, complete: frozenset[str], at: datetime
) -> None:
    """Look at one slice; the trouble of one hides no other."""
    try:
        looks = _looks(app, slice_, found, complete)
        if looks:
            settle(app, slice_.name, who="health_check", change=observation(looks, at))
    except ControlPlaneError as error:
        _log.warning("%s is not observed: %s", slice_.name, error)


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
    return {bid.name: app.slices.get(bid.zone, bid.name)}


def _live(app: App) -> list[Slice]:
    """Read the slices that may have something in the cloud; one that cannot be read hides none."""
    query = Query("slices", (Where("live", "==", True),), limit=SLICES_MAX)  # noqa: FBT003
    slices = []
    for document in app.store.query(query):
        try:
            slices.append(from_fields(Slice, document.fields))
        except Unreadable as error:
            _log.error("%s: %s", document.path, error)
    return slices


def _remembered(app: App, zones: set[str], at: datetime) -> list[str]:
    """Add the zones in which something of ours was not long ago: an orphan may come late."""
    document = app.store.get(ZONES)
    known = dict(document.fields) if document else {}
    oldest = at - timedelta(seconds=ZONE_S)
    kept = {
        zone: seen for zone, seen in known.items() if isinstance(seen, datetime) and seen > oldest
    }
    stale = at - timedelta(seconds=ZONE_S / 10)
    if kept != known or any(kept.get(zone, oldest) <= stale for zone in zones):
        fields: Fields = {**kept, **dict.fromkeys(zones, at)}
        write = Replace(ZONES, fields, document.token) if document else Create(ZONES, fields)
        app.store.commit([write])
    return sorted({*kept, *zones})


def _zones(slice_: Slice) -> set[str]:
    return {*slice_.zones, *(bid.zone for bid in _bids(slice_))}


def _bids(slice_: Slice) -> list[Bid]:
    return [bid for generation in slice_.generations for bid in generation.bids]


def _wake(app: App, wakes: Sequence[Wake]) -> None:
    if wakes:
        app.bus.publish(wakes[0].topic, [wake.message() for wake in wakes])
