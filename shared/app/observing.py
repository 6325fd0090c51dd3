"""Looks at the cloud as changes of documents: applied to whatever the documents are by then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from shared.app.perform import Mark
from shared.core.cloud import CloudRequest
from shared.core.observe import absent, never_came, seen
from shared.core.situation import Situation
from shared.core.slices import Bid, BidStage, Slice
from shared.core.unknown import note_seen
from shared.ports import SliceApi

# A bid as the cloud shows it; None for a direct 404; a text for a create that failed.
Look = CloudRequest | None | str


def look_at(slices: SliceApi, bid: Bid) -> Look:
    """Look at one bid directly.  Raises what the cloud answers."""
    if bid.foreign:
        return slices.find(bid.zone, bid.name)
    return slices.get(bid.zone, bid.name)


def observation(looks: Mapping[str, Look], at: datetime) -> Mark:
    """Take in looks at bids, by name, that began after ``at``.  Older than what is known: no-op."""

    def mark(now: Situation) -> Situation:
        for generation in now.slice.generations:
            for bid in generation.bids:
                if bid.name in looks and _is_news(bid, at):
                    new = _kept_quiet(bid, _take(bid, looks, at))
                    now = note_seen(now.with_bid(generation, new), bid, new)
        return now

    return mark


def says_news(slice_: Slice, looks: Mapping[str, Look], at: datetime) -> bool:
    """Tell whether looks would change what is written of a slice."""
    return any(
        bid.name in looks
        and _is_news(bid, at)
        and _kept_quiet(bid, _take(bid, looks, at)) is not bid
        for generation in slice_.generations
        for bid in generation.bids
    )


def _is_news(bid: Bid, at: datetime) -> bool:
    """A look that began before the bid was decided, or before the last look, says nothing."""
    is_over = bid.stage is BidStage.GONE or at < bid.intended_at
    last = max(filter(None, (bid.observed_at, bid.absent_again_at)), default=None)
    return not is_over and (last is None or at > last)


def _take(bid: Bid, looks: Mapping[str, Look], at: datetime) -> Bid:
    look = looks[bid.name]
    if look is None:
        return absent(bid, at)
    if isinstance(look, str):
        return never_came(bid, look, at)
    return seen(bid, look, at)


def _kept_quiet(old: Bid, new: Bid) -> Bid:
    """Do not write a document only to say when it was looked at."""
    only_times = replace(new, observed_at=old.observed_at)
    if not old.is_condemned:
        only_times = replace(only_times, stopped_at=old.stopped_at or new.stopped_at)
    return old if only_times == old else new
