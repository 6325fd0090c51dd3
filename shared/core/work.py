"""Rules that make work match the wish: prepare, start, stop.

Each is one paragraph of docs/protocol.md §5. The mandate that follows from what is decided here
is derived in ``telling``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shared.core.causes import Cause
from shared.core.hosts import Host
from shared.core.letting_go import lost
from shared.core.model import Attempt, Writer
from shared.core.reacting import close_attempt, react
from shared.core.situation import Situation
from shared.core.slices import Bid, Generation
from shared.core.stages import Event, Stage


def check_preparation(now: Situation) -> Situation:
    """A setup that failed, or that takes too long, is a cause like any other."""
    current = now.slice.current
    bid = current.claimed_bid if current else None
    since = now.served.prepare_since if now.is_serving else None
    if current is None or bid is None or since is None or not now.stands_at(Stage.PREPARING):
        return now
    hosts = now.hosts_of(current, bid.id)
    failed = [host for host in hosts if _setup_failed(now, current, host)]
    if failed:
        return _fail_setup(now, failed[0])
    limit_s = now.policy.prepare_s + now.spec.setup_timeout_s
    if now.since(since) < limit_s:
        return now
    if not now.has_listened:
        return now
    late = [host for host in hosts if not _is_prepared(now, current, host)]
    silent = [host for host in late if _is_silent(now, host)]
    if silent:
        return now.with_bid(current, lost(bid, Cause.HOST_LOST, f"host {silent[0].host} is silent"))
    return _fail_setup(now, late[0]) if late else now


def start(now: Situation) -> Situation:
    """All hosts prepared and the last writer dead: the next attempt may write."""
    current = now.slice.current
    bid = current.claimed_bid if current else None
    if current is None or bid is None or not now.stands_at(Stage.PREPARING):
        return now
    hosts = now.hosts_of(current, bid.id)
    if len(hosts) < bid.hosts or not all(_is_prepared(now, current, host) for host in hosts):
        return now
    if now.served.prepared_at is None:
        now = now.with_job(prepared_at=now.now)
    return _begin(now, current, bid, hosts) if now.served.writer_is_dead else now


def stop(now: Situation) -> Situation:
    """A job is cancelled when nothing of it can write any more, not before."""
    if now.stands_at(Stage.STOPPING) and now.served.writer_is_dead:
        now = close_attempt(now, Cause.DRAINED)
        return now.advance(Event.WRITER_DEAD, "stopped", ended_at=now.now)
    return now


def _is_silent(now: Situation, host: Host) -> bool:
    heard_at = host.received_at
    return heard_at is None or now.since(heard_at) >= now.policy.silent_host_s


def _setup_failed(now: Situation, current: Generation, host: Host) -> bool:
    return (
        host.setup is not None
        and host.setup.spec == now.served.spec_sha256
        and current.mandate.action == "prepare"
        and current.mandate.tries == now.served.spent.setups
        and host.seen_sequence >= current.mandate.sequence
        and host.prepared != now.served.spec_sha256
        and host.phase == "idle"
    )


def _fail_setup(now: Situation, host: Host) -> Situation:
    setup = host.setup
    if setup is None or setup.spec != now.served.spec_sha256:
        return react(now.with_job(cause=Cause.SETUP), Cause.SETUP, f"host {host.host}, too slow")
    now = now.with_job(cause=Cause.SETUP, exit_code=setup.exit_code, evidence=setup.evidence)
    how = f"signal {setup.signal}" if setup.signal else f"exit code {setup.exit_code}"
    return react(now, Cause.SETUP, f"host {host.host}, {how}")


def _is_prepared(now: Situation, current: Generation, host: Host) -> bool:
    """A host is prepared when it says so of the present order: a word from before it is stale."""
    order = current.mandate
    return (
        order.action == "prepare"
        and order.spec_sha256 == now.served.spec_sha256 == host.prepared
        and host.seen_sequence >= order.sequence
        and not host.alive
        and not host.notice
        and host.boot != current.restart.get(str(host.host))
    )


def _begin(now: Situation, current: Generation, bid: Bid, hosts: Sequence[Host]) -> Situation:
    """Take the next attempt number: the fencing token only grows."""
    job = now.served
    number = job.attempt + 1
    writer = Writer(
        attempt=number,
        slice=now.slice.name,
        slice_uid=now.slice.uid,
        generation=current.number,
        bid=bid.id,
        boots={str(host.host): host.boot for host in hosts},
        start_sequence=current.mandate.sequence + 1,
        lease_s=now.policy.lease_s,
    )
    attempt = _attempt(now, current, bid, number)
    now = replace(now, attempts=(*now.attempts, attempt))
    resumed = attempt.start_step
    text = f"attempt {number} starts" + (f" from step {resumed}" if resumed is not None else "")
    return now.advance(
        Event.ATTEMPT_STARTED,
        text,
        writer=writer,
        attempt=number,
        started_at=job.started_at or now.now,
        ended_at=None,
        cause=None,
        exit_code=None,
        evidence="",
        reason="",
    )


def _attempt(now: Situation, current: Generation, bid: Bid, number: int) -> Attempt:
    job = now.served
    newest = job.checkpoint.step if job.checkpoint else None
    known_step = job.from_step if job.from_step is not None else newest
    return Attempt(
        number=number,
        job=job.id,
        slice=now.slice.name,
        slice_uid=now.slice.uid,
        generation=current.number,
        bid=bid.id,
        zone=bid.zone,
        accelerator_type=bid.accelerator_type,
        spec_sha256=job.spec_sha256,
        run=job.run,
        resumes=job.resumes,
        ordered_at=now.now,
        requested_at=bid.requested_at,
        ready_at=bid.ready_at,
        claimed_at=current.claimed_at,
        prepared_at=job.prepared_at,
        from_step=job.from_step,
        known_step=known_step,
        start_step=known_step,
    )
