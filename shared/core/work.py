"""Rules that make work match the wish: prepare, start, judge, stop.

Each is one paragraph of docs/protocol.md §5 and §6. The mandate that follows from what is decided
here is derived in ``telling``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from shared.core import causes
from shared.core.causes import Cause
from shared.core.hosts import Host
from shared.core.letting_go import condemn, lost
from shared.core.model import Attempt, Bid, Ending, Generation, Writer
from shared.core.rules import FROM_SCRATCH, NEW_SLICE, Action, Decision, Rules, decide_action
from shared.core.situation import Situation
from shared.core.stages import Event, Stage


def record(now: Situation) -> Situation:
    """Write down what hosts say of the newest attempt, however late; never the stage."""
    attempt = now.attempt
    if attempt is None or now.job is None or attempt.slice_uid != now.slice.uid:
        return now
    generation = now.generation(attempt.generation)
    hosts = [
        host
        for host in (now.hosts_of(generation, attempt.bid) if generation else ())
        if host.attempt.belongs_to(now.job.id, attempt.number)
    ]
    return _record_progress(_record_times(now, hosts), hosts) if hosts else now


def judge_gang(now: Situation) -> Situation:
    """End the gang when one host failed; judge when all ended, or after a while."""
    if not now.runs:
        return now
    writer = now.served.writer
    assert writer is not None, "a running job has a writer"
    hosts = now.writers_hosts(writer)
    over = [host for host in hosts if _is_over(now, host, writer)]
    if not over:
        return now
    now = _end_gang(now, writer, over, len(hosts))
    ending = now.served.ending
    is_late = ending is not None and now.since(ending.since) >= now.policy.judge_s
    if len(over) < len(hosts) and not is_late:
        return now
    return _judge(now, writer, hosts)


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
        return now.advance(Event.WRITER_DEAD, "stopped", ended_at=now.now, ending=None)
    return now


def close_attempt(now: Situation, cause: Cause, *, noticed_at: datetime | None = None) -> Situation:
    """Record why the newest attempt ended, once."""
    attempt = now.attempt
    if attempt is None or attempt.ended_at is not None:
        return now
    now = now.with_attempt(cause=cause, ended_at=now.now, noticed_at=noticed_at)
    return now.note("AttemptEnded", f"attempt {attempt.number}: {cause}", public=True)


def from_scratch(now: Situation) -> Situation:
    """Begin a new run: its folder is new, nothing of the last one is used or touched."""
    job = now.served
    return now.with_job(run=job.run + 1, resumes=0, from_step=None, checkpoint=None, progress=None)


# --- Ends ---------------------------------------------------------------------------------------


def _is_over(now: Situation, host: Host, writer: Writer) -> bool:
    return causes.ended(host, now.served.id, writer.attempt) or causes.rebooted(host, writer.boots)


def _end_gang(now: Situation, writer: Writer, over: Sequence[Host], hosts: int) -> Situation:
    """Stop the others at once after a failure, and after a while after a success."""
    if now.served.ending is not None:
        return now
    bad = [
        host for host in over if causes.rebooted(host, writer.boots) or not host.attempt.is_clean
    ]
    if bad:
        why = f"host {bad[0].host} ended"
        ending = Ending(writer.attempt, now.now, why)
        return now.with_job(ending=ending).note("GangEnding", f"{why}: stopping the others")
    if len(over) == hosts:
        return now
    since = now.served.finishing_since
    if since is None:
        return now.with_job(finishing_since=now.now)
    if now.since(since) < now.spec.finish_grace_s:
        return now
    why = f"{len(over)} of {hosts} hosts finished, the others did not"
    ending = Ending(writer.attempt, now.now, why, hang=True)
    return now.with_job(ending=ending).note("GangEnding", why)


def _judge(now: Situation, writer: Writer, hosts: Sequence[Host]) -> Situation:
    verdict = causes.judge(hosts, job=now.served.id, attempt=writer.attempt, boots=writer.boots)
    ending = now.served.ending
    cause = Cause.HANG if ending is not None and ending.hang else verdict.cause
    now = now.with_job(ending=None, finishing_since=None, cause=cause, exit_code=verdict.exit_code)
    now = close_attempt(now, cause)
    now = now.with_attempt(
        cause_host=verdict.host,
        exit_code=verdict.exit_code,
        signal=verdict.signal,
        evidence="" if cause is Cause.SUCCEEDED else verdict.evidence,
    )
    if cause is Cause.SUCCEEDED:
        return now.advance(
            Event.ATTEMPT_SUCCEEDED, "finished", ended_at=now.now, reason="", evidence=""
        )
    return _react(now.with_job(evidence=verdict.evidence), cause, _end_text(verdict))


def _end_text(verdict: causes.Verdict) -> str:
    if verdict.host is None:
        return "no host said why"
    how = f"signal {verdict.signal}" if verdict.signal else f"exit code {verdict.exit_code}"
    return f"host {verdict.host}, {how}"


def _react(now: Situation, cause: Cause, detail: str) -> Situation:
    """Do what the job's rule says for a cause that left the slice alive."""
    decision = _decide(now, cause)
    text = f"{cause} ({detail}): {decision.why}"
    if decision.action is Action.STOP:
        return now.advance(Event.JOB_FAILED, text, reason=text, ended_at=now.now)
    fresh = decision.action in FROM_SCRATCH
    now = from_scratch(now) if fresh else now.with_job(resumes=now.served.resumes + 1)
    if decision.action in NEW_SLICE:
        current = now.slice.current
        assert current is not None, "a running job has a current generation"
        now = condemn(now, current, str(cause), delete_in_s=0.0)
        return now.advance(Event.SLICE_LOST, text, spent=decision.spent)
    changes = {"prepare_since": now.now, "prepared_at": None, "spent": decision.spent}
    return now.advance(Event.ATTEMPT_RETRIED, text, **changes)


def _decide(now: Situation, cause: Cause) -> Decision:
    spec = now.spec
    rules = Rules(spec.rule, spec.on, spec.budgets.preemptions, spec.budgets.failures)
    return decide_action(rules, cause, now.served.spent, advanced=_has_advanced(now))


def _has_advanced(now: Situation) -> bool:
    """The attempt left a newer checkpoint than it started from."""
    attempt, checkpoint = now.attempt, now.served.checkpoint
    if attempt is None or checkpoint is None:
        return False
    return checkpoint.step > (attempt.start_step if attempt.start_step is not None else -1)


# --- Preparation and start ----------------------------------------------------------------------


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
        return _react(now.with_job(cause=Cause.SETUP), Cause.SETUP, f"host {host.host}, too slow")
    now = now.with_job(cause=Cause.SETUP, exit_code=setup.exit_code, evidence=setup.evidence)
    how = f"signal {setup.signal}" if setup.signal else f"exit code {setup.exit_code}"
    return _react(now, Cause.SETUP, f"host {host.host}, {how}")


def _is_prepared(now: Situation, current: Generation, host: Host) -> bool:
    """A host is prepared when it says so of the present order: a word from before it is stale."""
    order = current.mandate
    return (
        order.action == "prepare"
        and order.spec_sha256 == now.served.spec_sha256 == host.prepared
        and host.seen_sequence >= order.sequence
        and not host.alive
        and not host.notice
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
    text = f"attempt {number}" + (f" from step {resumed}" if resumed is not None else "")
    return now.advance(
        Event.ATTEMPT_STARTED,
        text,
        writer=writer,
        attempt=number,
        from_step=None,
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
        start_step=job.from_step if job.from_step is not None else newest,
    )


# --- What hosts say -----------------------------------------------------------------------------


def _record_times(now: Situation, hosts: Sequence[Host]) -> Situation:
    attempt = now.attempt
    assert attempt is not None, "hosts speak of an attempt that is there"
    started = [host.attempt.started_at for host in hosts if host.attempt.started_at]
    stepped = [host.attempt.first_step_at for host in hosts if host.attempt.first_step_at]
    if attempt.process_at is None and started:
        now = now.with_attempt(process_at=min(started))
    if attempt.first_step_at is None and stepped:
        now = now.with_attempt(first_step_at=min(stepped))
    return now


def _record_progress(now: Situation, hosts: Sequence[Host]) -> Situation:
    attempt = now.attempt
    assert attempt is not None, "hosts speak of an attempt that is there"
    job = now.served
    is_newest = now.is_serving and (job.attempt, job.run) == (attempt.number, attempt.run)
    told = [host.progress for host in hosts if host.progress is not None]
    if told:
        newest = max(told, key=lambda progress: progress.step)
        now = now.with_attempt(last_step=newest.step)
        now = now.with_job(progress=newest) if is_newest else now
    saved = [host.checkpoint for host in hosts if host.checkpoint is not None]
    if saved:
        checkpoint = max(saved, key=lambda saved_: saved_.step)
        now = now.with_attempt(checkpoint_step=checkpoint.step)
        now = now.with_job(checkpoint=checkpoint) if is_newest else now
    return now
