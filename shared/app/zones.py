"""The zones that the tick lists: an orphan may come late, and where nothing is any more.

``control/zones`` says when something of ours was last in each zone, or when a person asked for
it. Where it was not long ago every tick looks; in the others only some do. Nowhere else does any:
documents that were lost, or did not come yet, would make orphans of everything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from shared.app.stored import written
from shared.core.slices import Slice
from shared.ports import Create, Document, Fields, Replace, Store

ZONES = "control/zones"
# Every tick looks for this long after the last slice in a zone: far longer than the slowest create.
ZONE_S = 3600.0
# Then one tick of so many does, until the control plane can hardly have been down since.
QUIET_TICKS = 10
QUIET_ZONE_S = 7 * 86400.0
SHOWN_MAX = 10


def known_zones(store: Store) -> Mapping[str, datetime]:
    """Read in which zones something was, and when last.  Raises Unavailable."""
    return _times(store.get(ZONES))


def zones_of(slice_: Slice) -> set[str]:
    """Name the zones in which something of a slice is, or may be asked for."""
    asked = {bid.zone for generation in slice_.generations for bid in generation.bids}
    return {*slice_.zones, *asked}


def due_zones(store: Store, live: Collection[str], at: datetime, *, quiet_too: bool) -> list[str]:
    """Say which zones a tick lists, and remember those in which something is."""
    document = store.get(ZONES)
    known = _times(document)
    kept = {zone: seen for zone, seen in known.items() if _age_s(seen, at) < QUIET_ZONE_S}
    is_stale = any(zone not in kept or _age_s(kept[zone], at) >= ZONE_S / 10 for zone in live)
    if kept != known or is_stale:
        store.commit([_write({**kept, **dict.fromkeys(live, at)}, document)])
    recent = {zone for zone, seen in kept.items() if quiet_too or _age_s(seen, at) < ZONE_S}
    return sorted({*recent, *live})


def is_turn_of_quiet(before: datetime | None, at: datetime, tick_s: float) -> bool:
    """Say whether the tick at a time is the first of its ten; ``before`` is the last one's."""
    if before is None or tick_s <= 0:
        return True
    length = timedelta(seconds=QUIET_TICKS * tick_s)
    origin = datetime.min.replace(tzinfo=at.tzinfo)
    return (before - origin) // length != (at - origin) // length


def asked_for(store: Store, zones: Collection[str], now: datetime) -> Create | Replace:
    """Write that somebody wants zones to be listed from now on.  Raises Unavailable."""
    document = store.get(ZONES)
    at = document.read_at if document else now
    return _write({**_times(document), **dict.fromkeys(zones, at)}, document)


def _write(times: Mapping[str, datetime], document: Document | None) -> Create | Replace:
    newest = sorted(times, key=lambda zone: times[zone], reverse=True)
    more = len(times) - SHOWN_MAX
    told = ", ".join(sorted(newest[:SHOWN_MAX])) + (f" and {more} more" if more > 0 else "")
    fields: Fields = {"summary": f"swept: {told}", **times}
    return written(ZONES, fields, document)


def _times(document: Document | None) -> dict[str, datetime]:
    found = document.fields.items() if document else ()
    return {zone: seen for zone, seen in found if isinstance(seen, datetime)}


def _age_s(seen: datetime, at: datetime) -> float:
    return (at - seen).total_seconds()
