"""Rules that make capacity match the wish: lose, bid, claim.

Each is one paragraph of docs/protocol.md §3 and §4. They decide; performing is up to the use cases.
"""

from __future__ import annotations

from dataclasses import replace

from shared.core.causes import Cause
from shared.core.hosts import Host
from shared.core.letting_go import condemn, condemned, lost
from shared.core.names import cloud_name
from shared.core.reacting import again_by, close_attempt, decision_on, left_by
from shared.core.rules import Action
from shared.core.situation import Situation
from shared.core.slices import Bid, BidStage, Generation, Kind, Mandate, View
from shared.core.stages import ON_A_SLICE, Event, Stage, can

_NOTICES = {"preempted": Cause.PREEMPTED, "maintenance": Cause.MAINTENANCE}
_WAITING = (Stage.QUEUED, Stage.PROVISIONING, Stage.RECOVERING)


def take_notice(now: Situation) -> Situation:
    """A host that was told that it will go tells us that the bid is lost."""
    for generation, bid in _live_bids(now):
        notice = next((host.notice for host in now.hosts_of(generation, bid.id) if host.notice), "")
        if notice and bid.verdict is not View.LOST:
            gone = lost(bid, _NOTICES.get(notice, Cause.PREEMPTED), "notice")
            now = _noticed(now, generation, gone, "will be taken away")
    return now


def take_word(
    now: Situation, number: int, bid_id: str, *, zone: str, cause: Cause, detail: str
) -> Situation:
    """What Google's audit log says is gone is lost; hosts that still live may flush, as ever.

    What is about another zone, about what was let go already, or comes again, changes nothing.
    """
    for generation, bid in _live_bids(now):
        is_meant = (generation.number, bid.id, bid.zone) == (number, bid_id, zone)
        if is_meant and bid.verdict is not View.LOST:
            now = _noticed(now, generation, lost(bid, cause, detail), f"is gone ({detail})")
    return now


def take_announcement(
    now: Situation, number: int, bid_id: str, *, zone: str, detail: str
) -> Situation:
    """Say once that maintenance is ahead; nothing is lost before it begins."""
    for generation, bid in _live_bids(now):
        is_meant = (generation.number, bid.id, bid.zone) == (number, bid_id, zone)
        if is_meant and bid.verdict is View.READY and bid.detail != detail:
            now = now.with_bid(generation, replace(bid, detail=detail))
            now = now.note("MaintenanceAhead", f"{bid.name}: {detail}")
    return now


def see_boots(now: Situation) -> Situation:
    """A ready bid whose hosts all speak has booted; one that takes too long is a bad node."""
    for generation, bid in _live_bids(now):
        if bid.verdict is not View.READY or bid.booted_at is not None:
            continue
        assert bid.ready_at is not None, "a ready bid knows since when"
        if len(now.hosts_of(generation, bid.id)) >= bid.hosts:
            now = now.with_bid(generation, replace(bid, booted_at=now.now))
            now = now.note("BidReady", f"{bid.name} is ready in {bid.zone}", public=True)
        elif bid.foreign:
            continue  # it is only watched until somebody runs the installer there
        elif now.since(bid.ready_at) >= now.policy.boot_s:
            now = _give_up_boot(now, generation, bid)
    return now


def miss(now: Situation) -> Situation:
    """A request that was accepted and never appeared is not coming any more."""
    for generation, bid in _live_bids(now):
        if bid.stage is not BidStage.REQUESTED or bid.absent_at is None:
            continue
        assert bid.absent_again_at is not None, "the last look is never older than the first"
        missing_s = (bid.absent_again_at - bid.absent_at).total_seconds()
        if bid.verdict is not View.LOST and missing_s >= now.policy.late_create_s:
            now = now.with_bid(generation, lost(bid, Cause.BAD_NODE, "it never appeared"))
    return now


def hear_silence(now: Situation) -> Situation:
    """A host that stopped speaking, while reports come through, is lost with its slice."""
    current = now.slice.current
    bid = current.claimed_bid if current else None
    if current is None or bid is None or bid.verdict is not View.READY:
        return now
    if not now.can_judge_silence or not now.has_listened:
        return now
    hosts = now.hosts_of(current, bid.id)
    silent = [host for host in hosts if _age_s(now, host) >= now.policy.silent_host_s]
    if not silent:
        return now
    is_whole = len(silent) == len(hosts)
    youngest_s = min(_age_s(now, host) for host in silent)
    if is_whole and youngest_s < now.policy.silent_slice_s:
        return now
    names = ", ".join(str(host.host) for host in silent)
    detail = f"host {names} silent for {youngest_s:.0f} s"
    return now.with_bid(current, lost(bid, Cause.HOST_LOST, detail))


def lose(now: Situation) -> Situation:
    """A claimed bid that is lost ends its generation; the job's rule says what follows.

    A node that others made is lost as well while it is only watched.
    """
    current = now.slice.current
    bid = (current.claimed_bid or current.foreign_bid) if current else None
    if current is None or bid is None or bid.verdict is not View.LOST:
        return now
    cause = bid.lost_cause or Cause.PREEMPTED
    wait_s = now.policy.notice_s if current.noticed_at else 0.0
    now = condemn(now, current, str(cause), delete_in_s=wait_s)
    is_news = not now.stands_at(*ON_A_SLICE, Stage.STOPPING)  # else the job's own change is told
    text = f"{bid.name}: {cause}{_because(bid)}"
    now = now.note("SliceLost", text, public=is_news, why=cause)
    if not now.slice.can_be_made:
        now = now.with_slice(wanted=False, reason=f"{cause}: it was adopted, and is not made again")
    if now.stands_at(Stage.STOPPING):
        text = "the slice is gone while the job is being stopped"
        return now.advance(Event.SLICE_LOST, text, why=cause)
    if now.stands_at(*ON_A_SLICE):
        return _lose_under_job(now, cause, noticed=current)
    return now if now.slice.can_be_made else _leave_waiting_job(now)


def rebid(now: Situation) -> Situation:
    """A bid that failed before it was claimed is followed by another one, in the next zone."""
    current = now.slice.current
    if current is None or current.claimed or current.foreign_bid is not None:
        return now
    for bid in current.bids:
        if bid.verdict is View.LOST and not bid.is_condemned:
            why = str(bid.lost_cause or "refused")
            now = now.with_bid(current, condemned(now, bid, why))
            now = now.note("BidFailed", f"{bid.name} in {bid.zone}: {bid.detail or why}")
            now = now.with_slice(zone_turn=now.slice.zone_turn + 1)
            now = now.with_slice(next_bid_at=now.later(now.policy.rebid_s))
            now = _give_up(now, bid) if bid.refused else now
    return _bid_again(now)


def claim(now: Situation) -> Situation:
    """The first bid that is really ready serves the slice; the others go."""
    current = now.slice.current
    if current is None or current.claimed:
        return now
    ready = [bid for bid in current.bids if _is_ready(bid)]
    if not ready:
        return now
    chosen = min(ready, key=lambda bid: (bid.booted_at, bid.id))
    bids = tuple(
        bid if bid.id == chosen.id or bid.is_condemned else condemned(now, bid, "lost the race")
        for bid in current.bids
    )
    claimed = replace(current, claimed=chosen.id, claimed_at=now.now, bids=bids)
    now = now.with_generation(claimed).with_slice(next_bid_at=None)
    return now.note("SliceClaimed", f"{chosen.name} serves the slice")


def serve(now: Situation) -> Situation:
    """A job that waits for its slice moves on once the slice is there."""
    current = now.slice.current
    bid = current.claimed_bid if current else None
    if current is None or bid is None or bid.verdict is View.LOST:
        return now
    if not now.stands_at(*_WAITING):
        return now
    text = f"preparing on generation {current.number} in {bid.zone}"
    return now.advance(
        Event.SLICE_CLAIMED, text, prepare_since=now.now, prepared_at=None, zone=bid.zone
    )


def want(now: Situation) -> Situation:
    """A wanted slice without a generation gets its next one."""
    if now.slice.current is None and now.slice.wanted and _is_needed(now):
        number = now.slice.generation + 1
        cause = now.slice.generations[-1].bids[-1].condemned_for if now.slice.generations else ""
        order = Mandate(0, "idle", "", now.now)
        generation = Generation(number, cause or "wanted", now.now, order)
        kept = (*now.slice.generations, generation)
        now = now.with_slice(generation=number, generations=kept, next_bid_at=None)
        now = now.note("SliceWanted", f"asking for generation {number} of {now.slice.name}")
        now = _bid_again(now)
    if now.stands_at(Stage.QUEUED) and now.slice.current is not None:
        return now.advance(Event.SLICE_WANTED, f"waiting for {now.slice.accelerator_type}")
    return now


def _bid_again(now: Situation) -> Situation:
    """Ask once more, unless something is being asked for, or it is too early."""
    current = now.slice.current
    if current is None or current.claimed or not now.slice.wanted:
        return now
    too_early = now.slice.next_bid_at is not None and now.now < now.slice.next_bid_at
    if too_early or any(not bid.is_condemned for bid in current.bids):
        return now
    zone = now.slice.zones[now.slice.zone_turn % len(now.slice.zones)]
    number = str(len(current.bids))
    bid = Bid(
        id=number,
        name=cloud_name(now.world.installation, now.slice.uid, current.number, number),
        zone=zone,
        accelerator_type=now.slice.accelerator_type,
        tier=now.slice.tier,
        runtime_version=now.slice.runtime_version,
        hosts=now.slice.hosts,
        intended_at=now.now,
        job=now.slice.job,
    )
    return now.with_generation(replace(current, bids=(*current.bids, bid)))


def _lose_under_job(now: Situation, cause: Cause, *, noticed: Generation) -> Situation:
    decision = decision_on(now, cause, left_by(now, cause))
    now = close_attempt(now, cause, noticed_at=noticed.noticed_at or now.now)
    now = now.with_job(cause=cause)
    if decision.action is Action.STOP:
        text = f"{cause}: {decision.why}"
        ended = str(decision.ended)
        return now.advance(Event.JOB_FAILED, text, why=ended, reason=text, ended_at=now.now)
    now = again_by(now, decision.action)
    text = f"{cause}: getting a new slice ({decision.why})"
    return now.advance(Event.SLICE_LOST, text, why=cause, spent=decision.spent)


def _give_up(now: Situation, bid: Bid) -> Situation:
    """What the cloud refuses in every zone will not get better by asking again."""
    if now.slice.zone_turn < len(now.slice.zones):
        return now
    now = now.with_slice(wanted=False, reason=bid.detail)
    if now.is_serving and can(now.served.stage, Event.JOB_FAILED):
        return now.advance(
            Event.JOB_FAILED, bid.detail, reason=bid.detail, cause=None, ended_at=now.now
        )
    return now


def _is_needed(now: Situation) -> bool:
    """A job waits for it, or its owner wants it for itself: once more, or always."""
    slice_ = now.slice
    if not slice_.can_be_made:
        return False
    if now.stands_at(*_WAITING) or slice_.kind is Kind.TEMPORARY:
        return now.stands_at(*_WAITING)
    return slice_.keep or slice_.generation < slice_.asked


def _leave_waiting_job(now: Situation) -> Situation:
    """What a job waits for does not come: its owner has to name another slice."""
    if not now.is_serving or not can(now.served.stage, Event.JOB_FAILED):
        return now
    text = f"{now.slice.name} is gone, {now.slice.reason}"
    return now.advance(Event.JOB_FAILED, text, reason=text, cause=None, ended_at=now.now)


def _is_ready(bid: Bid) -> bool:
    return not bid.is_condemned and bid.verdict is View.READY and bid.booted_at is not None


def _noticed(now: Situation, generation: Generation, gone: Bid, text: str) -> Situation:
    """A loss that leaves time: what lives there is given it before the delete."""
    now = now.with_bid(generation, gone).note("NoticeGiven", f"{gone.name} {text}")
    return now.with_generation(replace(now.kept(generation), noticed_at=now.now))


def _give_up_boot(now: Situation, generation: Generation, bid: Bid) -> Situation:
    if not now.has_listened:
        return now
    detail = f"not all hosts booted within {now.policy.boot_s:.0f} s"
    return now.with_bid(generation, lost(bid, Cause.BAD_NODE, detail))


def _live_bids(now: Situation) -> list[tuple[Generation, Bid]]:
    current = now.slice.current
    if current is None:
        return []
    return [
        (current, bid)
        for bid in current.bids
        if not bid.is_condemned and bid.stage is not BidStage.GONE
    ]


def _age_s(now: Situation, host: Host) -> float:
    assert host.received_at is not None, "a stored host knows when it was heard"
    return now.since(host.received_at)


def _because(bid: Bid) -> str:
    return f" ({bid.detail})" if bid.detail else ""
