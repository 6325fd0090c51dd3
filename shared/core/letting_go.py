"""Rules that let capacity go: release, condemn, delete, bury.

Nothing here deletes; it decides what shall be deleted, and believes that something is gone only
when the cloud said so (docs/protocol.md §4).
"""

from __future__ import annotations

from dataclasses import replace

from shared.core.catalog import Tier
from shared.core.causes import Cause
from shared.core.names import ledger_line
from shared.core.rules import GROUP_OF, Group
from shared.core.situation import LedgerLine, Situation
from shared.core.slices import Bid, BidStage, Generation, Kind, Slice, View
from shared.core.stages import Stage

_FIXABLE = frozenset({Group.ERROR, Group.SETUP, Group.HANG, Group.LOCKED})


def condemn(now: Situation, generation: Generation, why: str, *, delete_in_s: float) -> Situation:
    """End a generation for good: nothing starts in it again, and all its bids shall go."""
    bids = tuple(
        bid if bid.is_condemned else condemned(now, bid, why, delete_in_s=delete_in_s)
        for bid in generation.bids
    )
    return now.with_generation(replace(generation, bids=bids, condemned_at=now.now))


def condemned(now: Situation, bid: Bid, why: str, *, delete_in_s: float = 0.0) -> Bid:
    """Decide that a bid shall go."""
    return replace(
        bid,
        condemned_at=now.now,
        condemned_for=why,
        delete_after=now.later(delete_in_s),
        in_line=False,
        not_before=None,
        tries=0,
    )


def lost(bid: Bid, cause: Cause, detail: str) -> Bid:
    """Record that a bid's capacity is gone, and by which sign."""
    return replace(bid, verdict=View.LOST, lost_cause=cause, detail=detail)


def let_go(now: Situation) -> Situation:
    """After a job's end its slice is held for a while, or released; a named one just waits."""
    if now.is_serving and now.served.is_over and now.slice.wanted:
        now = _hold_or_release(now)
    is_left = now.job is None or not now.is_serving or now.served.is_over
    if is_left and now.writer is None and now.slice.job:
        now = now.with_slice(job="")
    return now


def expire(now: Situation) -> Situation:
    """A temporary slice that serves nobody goes, at once or when its time is up."""
    slice_ = now.slice
    is_free = not now.is_serving or now.served.is_over
    if slice_.kind is not Kind.TEMPORARY or not slice_.wanted or not is_free:
        return now
    if slice_.held_until is None or now.now >= slice_.held_until or slice_.current is None:
        return now.with_slice(wanted=False, held_until=None)
    return now


def release(now: Situation) -> Situation:
    """A slice that nobody wants gives back what it has, after its hosts have flushed."""
    current = now.slice.current
    if now.slice.wanted or current is None:
        return now
    has_work = any(host.attempt.number >= 0 for host in now.hosts_of(current, current.claimed))
    wait_s = now.policy.notice_s if has_work else 0.0
    now = condemn(now, current, "released", delete_in_s=wait_s)
    return now.note("SliceReleased", f"{now.slice.name} is being deleted")


def hasten(now: Situation) -> Situation:
    """A condemned bid whose hosts have nothing left to save need not wait."""
    for generation in now.slice.generations:
        for bid in generation.bids:
            is_waiting = bid.delete_after is not None and bid.delete_after > now.now
            if is_waiting and _is_flushed(now, generation, bid):
                now = now.with_bid(generation, replace(bid, delete_after=now.now))
    return now


def bury(now: Situation) -> Situation:
    """A condemned bid of which no trace is left is gone, and its cost is known."""
    for generation in now.slice.generations:
        for bid in generation.bids:
            if not bid.is_condemned or bid.gone_at is not None or _is_writers(now, generation, bid):
                continue
            if _is_gone(now, generation, bid):
                gone = replace(bid, stage=BidStage.GONE, gone_at=now.now)
                now = now.with_bid(generation, gone)
                now = _account(now, generation, gone)
    return now


def drop(now: Situation) -> Situation:
    """Forget generations that are over in the cloud, on the hosts and for the writer."""
    kept = tuple(each for each in now.slice.generations if not _is_closed(now, each))
    if len(kept) < len(now.slice.generations):
        now = now.with_slice(generations=kept)
    if now.slice.live and not now.slice.wanted and not kept and not now.slice.job:
        now = now.with_slice(live=False)
    return now


def _hold_or_release(now: Situation) -> Situation:
    slice_, job = now.slice, now.served
    if slice_.kind is not Kind.TEMPORARY or slice_.held_until is not None:
        return now
    is_fixable = job.stage is Stage.FAILED and _can_be_fixed(job.cause)
    hold_s = now.spec.hold_s
    if hold_s is None:
        hold_s = now.policy.hold_s if is_fixable else 0.0
    if hold_s <= 0 or slice_.current is None:
        return now.with_slice(wanted=False)
    text = f"{slice_.name} is held for {hold_s:.0f} s"
    return now.with_slice(held_until=now.later(hold_s)).note("SliceHeld", text)


def _can_be_fixed(cause: Cause | None) -> bool:
    return cause is not None and GROUP_OF.get(cause) in _FIXABLE


def _is_flushed(now: Situation, generation: Generation, bid: Bid) -> bool:
    """Every host that ever spoke knows the end, runs nothing and has shipped its logs."""
    order = generation.mandate
    hosts = now.hosts_of(generation, bid.id)
    return order.action == "end" and all(
        host.acknowledges(order.sequence) and (host.attempt.number < 0 or host.attempt.flushed)
        for host in hosts
    )


def _is_writers(now: Situation, generation: Generation, bid: Bid) -> bool:
    """Looks at it go on until its writer is known to be dead: two absences prove that."""
    writer = now.writer
    return writer is not None and (writer.generation, writer.bid) == (generation.number, bid.id)


def _is_gone(now: Situation, generation: Generation, bid: Bid) -> bool:
    if generation.mandate.written == 0:
        return True  # a bid is created only after the first mandate is written
    if is_spared(now.slice, bid):
        return _is_left(now, generation, bid)
    if bid.absent_at is None:
        return False
    if bid.stage is BidStage.PRESENT:
        return True
    # Never seen: a create whose reply was lost may still take effect.
    assert bid.absent_again_at is not None, "the last look is never older than the first"
    seconds = (bid.absent_again_at - bid.absent_at).total_seconds()
    return seconds >= now.policy.late_create_s


def is_spared(slice_: Slice, bid: Bid) -> bool:
    """It is let go and never deleted: others made it, and did not say that we may."""
    return bid.foreign and not slice_.disposable


def _is_left(now: Situation, generation: Generation, bid: Bid) -> bool:
    """Its agents were told to end, and had time to."""
    is_told = generation.mandate.action == "end" and generation.mandate.is_written
    return is_told and bid.delete_after is not None and bid.delete_after <= now.now


def _account(now: Situation, generation: Generation, bid: Bid) -> Situation:
    if bid.ready_at is None or bid.foreign:
        return now
    catalog = now.world.catalog
    line = LedgerLine(
        id=ledger_line(now.slice.uid, generation.number, bid.id),
        job=bid.job,
        slice=now.slice.name,
        generation=generation.number,
        bid=bid.id,
        zone=bid.zone,
        accelerator_type=bid.accelerator_type,
        tier=bid.tier,
        chips=catalog.accelerator(bid.accelerator_type).chips,
        ready_at=bid.ready_at,
        gone_at=bid.stopped_at or now.now,
        usd_per_chip_hour=catalog.usd_per_chip_hour(bid.accelerator_type, bid.zone, Tier(bid.tier)),
    )
    return replace(now, ledger=(*now.ledger, line))


def _is_closed(now: Situation, generation: Generation) -> bool:
    writer = now.writer
    return (
        generation.is_condemned
        and generation.mandate.action == "end"
        and generation.mandate.is_written
        and all(bid.gone_at is not None for bid in generation.bids)
        and (writer is None or writer.generation != generation.number)
    )
