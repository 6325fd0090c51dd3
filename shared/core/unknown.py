"""What nobody can look at: told once, lost never (docs/protocol.md §3).

An error, a page that failed, a zone that does not answer say nothing about a slice. When that
lasts its owner is told, and told again when it is seen; nothing else is done about it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from shared.core.durations import spoken
from shared.core.situation import Situation
from shared.core.slices import Bid, BidStage, Slice

UNKNOWN = "unknown"


def current_bids(slice_: Slice) -> list[Bid]:
    """The bids that serve a slice, or may, and of which something may be in the cloud."""
    current = slice_.current
    return [
        bid
        for bid in (current.bids if current else ())
        if not bid.is_condemned and bid.stage in {BidStage.REQUESTED, BidStage.PRESENT}
    ]


def take_unknown(now: Situation, names: Collection[str], since: datetime, why: str) -> Situation:
    """Say once that bids could not be looked at since a time; they stay what they are."""
    unseen = [
        bid
        for bid in current_bids(now.slice)
        if bid.name in names
        and bid.unknown_since is None
        and (bid.observed_at is None or bid.observed_at <= since)
    ]
    current = now.slice.current
    if current is None or not unseen:
        return now
    for bid in unseen:
        now = now.with_bid(current, replace(bid, unknown_since=since))
    text = f"{unseen[0].name} could not be looked at for {spoken(now.since(since))}: {why}"
    return now.note("SliceUnknown", text, public=True, why=UNKNOWN)


def note_seen(now: Situation, old: Bid, new: Bid) -> Situation:
    """Say that a bid is seen again, if people were told that it is not."""
    if old.unknown_since is None or new.unknown_since is not None:
        return now
    text = f"{new.name} is seen again, after {spoken(now.since(old.unknown_since))}"
    return now.note("SliceSeen", text, public=True, why=UNKNOWN)


def unknown_since(slice_: Slice) -> datetime | None:
    """Since when a slice is not seen, where that was told."""
    times = [bid.unknown_since for bid in current_bids(slice_) if bid.unknown_since is not None]
    return min(times, default=None)
