"""Since when which zones and slices could not be looked at, and whom that is told.

``control/unseen`` is written when that changes, so a month in which all is seen writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from shared.app.context import App
from shared.app.settle import settle
from shared.app.stored import written
from shared.core.cloud import Listing
from shared.core.codec import from_fields, to_fields
from shared.core.slices import Slice
from shared.core.unknown import current_bids, take_unknown
from shared.errors import Conflict, ControlPlaneError
from shared.log import get

UNSEEN = "control/unseen"
_log = get("health_check")


@dataclass(slots=True)
class Sight:
    """What a tick was to look at, and what came of it.

    ``failed`` says of slices that were asked for on their own why that failed; ``is_whole`` says
    that every slice had its turn.
    """

    slices: Sequence[Slice] = ()
    listing: Listing = field(default_factory=lambda: Listing((), frozenset(), ()))
    failed: dict[str, str] = field(default_factory=dict)
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class Unseen:
    """Since when what is not seen."""

    summary: str = "everything is seen"
    zones: Mapping[str, datetime] = field(default_factory=dict)
    slices: Mapping[str, datetime] = field(default_factory=dict)


def follow_unseen(app: App, sight: Sight, at: datetime) -> None:
    """Remember what a tick did not see, and tell the owners of what is not seen for too long.

    Raises Unavailable.  Idempotent: by the bid's own mark.
    """
    if not sight.slices:
        return  # there is nothing to look at, or that is not known
    unseen = _remember(app, sight, sight.slices, at)
    found = {request.name for request in sight.listing.requests}
    for slice_ in sight.slices:
        gaps = _gaps(slice_, unseen, found)
        long = [name for name, since in gaps.items() if _age_s(since, at) >= app.policy.unknown_s]
        if long and app.deadline.is_over:
            return  # the next tick tells the others
        if long:
            _tell(app, slice_, long, min(gaps.values()), _why(slice_, sight))


def _remember(app: App, sight: Sight, live: Sequence[Slice], at: datetime) -> Unseen:
    document = app.store.get(UNSEEN)
    before = from_fields(Unseen, document.fields) if document else Unseen()
    asked = {bid.zone for slice_ in live for bid in current_bids(slice_)}
    failed = set(sight.failed) | (set() if sight.is_whole else set(before.slices))
    zones = {zone: before.zones.get(zone, at) for zone in sorted(asked - sight.listing.complete)}
    slices = {name: before.slices.get(name, at) for name in sorted(failed)}
    after = Unseen(_summary([*zones, *slices]), zones, slices)
    if after != before:
        # Another tick that is at work sees the same.
        with suppress(Conflict):
            app.store.commit([written(UNSEEN, to_fields(after), document)])
    return after


def _gaps(slice_: Slice, unseen: Unseen, found: Collection[str]) -> dict[str, datetime]:
    """Say since when which bids of a slice are not seen, without those that people know of."""
    gaps = {}
    for bid in current_bids(slice_):
        zone = None if bid.name in found else unseen.zones.get(bid.zone)
        since = unseen.slices.get(slice_.name) or zone
        if since is not None and bid.unknown_since is None:
            gaps[bid.name] = max(since, bid.intended_at)
    return gaps


def _tell(app: App, slice_: Slice, names: Collection[str], since: datetime, why: str) -> None:
    """Tell one owner; the trouble of one hides no other."""
    try:
        settle(
            app,
            slice_.name,
            who="health_check",
            change=lambda now: take_unknown(now, names, since, why),
        )
    except ControlPlaneError as error:
        _log.warning("%s: nobody is told that it is not seen: %s", slice_.name, error)


def _why(slice_: Slice, sight: Sight) -> str:
    zones = {bid.zone for bid in current_bids(slice_)}
    told = (text for text in sight.listing.problems if text.partition(":")[0] in zones)
    return sight.failed.get(slice_.name) or next(told, "the cloud does not answer")


def _summary(what: Sequence[str]) -> str:
    return f"not seen: {', '.join(what)}" if what else Unseen().summary


def _age_s(since: datetime, at: datetime) -> float:
    return (at - since).total_seconds()
