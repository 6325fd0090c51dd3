"""When somebody has to look again, if nothing else happens.

``due_at`` is what makes the tick enough: every wait in the documents is a term of the minimum
that is taken here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from shared.core.causes import has_begun
from shared.core.gangs import start_of
from shared.core.gate import turn_of
from shared.core.letting_go import is_spared
from shared.core.situation import Situation
from shared.core.slices import Bid, BidStage, Generation, View
from shared.core.stages import Stage
from shared.core.waiting import stuck_from

# A wait that is over and changed nothing is looked at again after this long.
_AGAIN_S = 1.0


def schedule(now: Situation) -> Situation:
    """Set the slice's next due time."""
    if not now.slice.live:
        return replace(now, slice=replace(now.slice, due_at=None, turn=""))
    was_in_line = now.slice.turn != ""
    now = replace(now, slice=replace(now.slice, turn=_turn(now)))
    times = list(_waits(now))
    if has_open_intents(now):
        times.append(_intents_due(now, keeps=was_in_line or not now.slice.turn))
    due_at = max(min(times), _soonest(now)) if times else None
    return replace(now, slice=replace(now.slice, due_at=due_at))


def _soonest(now: Situation) -> datetime:
    """Keep a time that is near: looks that come oftener than it would put it off for ever."""
    soonest, old = now.later(_AGAIN_S), now.slice.due_at
    return old if old is not None and now.now < old <= soonest else soonest


def has_open_intents(now: Situation) -> bool:
    """Tell whether anything was decided that is not known to be done."""
    return bool(unwritten(now) or uncreated(now) or undeleted(now))


def unwritten(now: Situation) -> list[Generation]:
    """Generations whose newest mandate is not known to be written."""
    return [each for each in now.slice.generations if not each.mandate.is_written]


def unrung(now: Situation) -> list[Generation]:
    """Generations whose agents look rarely and have not been told of the newest mandate."""
    return [
        each
        for each in now.slice.generations
        if each.claimed
        and each.mandate.rings
        and each.mandate.is_written
        and each.mandate.rung < each.mandate.sequence
    ]


def uncreated(now: Situation) -> list[tuple[Generation, Bid]]:
    """Bids to be created: only once the first mandate is there for their agents to read."""
    return [
        (generation, bid)
        for generation in now.slice.generations
        for bid in generation.bids
        if bid.stage is BidStage.INTENDED
        and not bid.is_condemned
        and bid.verdict is not View.LOST
        and generation.mandate.written > 0
        and not _is_early(now, bid)
    ]


def undeleted(now: Situation) -> list[tuple[Generation, Bid]]:
    """Bids to be deleted now, those included whose delete has not shown any effect."""
    again = timedelta(seconds=now.policy.intent_due_s)
    return [
        (generation, bid)
        for generation in now.slice.generations
        for bid in generation.bids
        if bid.is_condemned
        and bid.gone_at is None
        and not is_spared(now.slice, bid)
        and generation.mandate.written > 0
        and bid.delete_after is not None
        and bid.delete_after <= now.now
        and (bid.deleted_at is None or bid.deleted_at + again <= now.now)
        and not _is_early(now, bid)
    ]


def turn(now: Situation, generation: Generation, bid: Bid) -> str:
    """Say where in the line a bid stands, or would."""
    priority = now.spec.priority if now.is_serving else 0
    return turn_of(priority, generation.created_at, bid.name)


def _turn(now: Situation) -> str:
    """Say where in the line the slice stands, if a bid of it does."""
    turns = [turn(now, each, bid) for each, bid in uncreated(now) if bid.in_line]
    return min(turns, default="")


def _is_early(now: Situation, bid: Bid) -> bool:
    """What failed is left alone for a while."""
    return bid.not_before is not None and now.now < bid.not_before


def _intents_due(now: Situation, *, keeps: bool) -> datetime:
    """Keep a due time that was set for the open intents: only a new one postpones nothing.

    Who stands in line is called; a look of their own is for the case that nobody calls.
    """
    is_called = all(bid.in_line for _, bid in uncreated(now))
    only_waits = is_called and not (unwritten(now) or undeleted(now))
    latest = now.later(now.policy.retry_s_max if only_waits else now.policy.intent_due_s)
    old = now.slice.due_at
    return old if keeps and old is not None and now.now < old <= latest else latest


def _waits(now: Situation) -> Iterator[datetime]:
    slice_ = now.slice
    if slice_.held_until is not None:
        yield slice_.held_until
    if slice_.next_bid_at is not None and slice_.current and not slice_.current.claimed:
        yield slice_.next_bid_at
    for generation in slice_.generations:
        if generation.restart_at is not None:
            yield generation.restart_at + _s(now.policy.boot_s)
        for bid in generation.bids:
            yield from _bid_waits(now, bid)
    yield from _silence(now)
    yield from _writer_waits(now)
    if now.is_serving:
        yield from _job_waits(now)


def _bid_waits(now: Situation, bid: Bid) -> Iterator[datetime]:
    if bid.gone_at is not None:
        return
    if bid.is_condemned:
        assert bid.delete_after is not None, "a condemned bid knows when it goes"
        sent = bid.deleted_at
        due_at = bid.delete_after if sent is None else sent + _s(now.policy.intent_due_s)
        yield max(due_at, bid.not_before or due_at)
    elif bid.stage is BidStage.INTENDED and bid.not_before is not None and _is_early(now, bid):
        yield bid.not_before
    elif bid.verdict is View.READY and bid.booted_at is None and not bid.foreign:
        assert bid.ready_at is not None, "a ready bid knows since when"
        yield bid.ready_at + _s(now.policy.boot_s)


def _silence(now: Situation) -> Iterator[datetime]:
    """Look when the host that spoke least recently would be silent."""
    current = now.slice.current
    hosts = now.hosts_of(current, current.claimed) if current and current.claimed else ()
    heard = [host.received_at for host in hosts if host.received_at is not None]
    if heard:
        yield max(
            min(heard) + _s(now.policy.silent_host_s), now.later(now.policy.silent_host_s / 10)
        )


def _writer_waits(now: Situation) -> Iterator[datetime]:
    writer = now.writer
    if writer is not None and writer.end_written_at is not None:
        yield writer.end_written_at + _s(writer.lease_s + now.policy.lease_margin_s)


def _job_waits(now: Situation) -> Iterator[datetime]:
    job = now.served
    stuck_at = stuck_from(now)
    if stuck_at is not None:
        yield stuck_at
    if job.ending is not None:
        yield job.ending.since + _s(now.policy.judge_s)
    writer = now.writer
    if now.runs and writer is not None and writer.start_written_at is not None:
        start = start_of(now, writer)
        if not all(has_begun(host, start) for host in now.writers_hosts(writer)):
            yield writer.start_written_at + _s(now.policy.start_s + now.policy.snapshot_s)
    if job.finishing_since is not None:
        yield job.finishing_since + _s(now.spec.finish_grace_s)
    if job.stage is Stage.PREPARING and job.prepare_since is not None:
        yield job.prepare_since + _s(now.policy.prepare_s + now.spec.setup_timeout_s)


def _s(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)
