"""When a gang is ended, and what its end is judged to be (docs/protocol.md §6)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from shared.core import causes
from shared.core.causes import Cause
from shared.core.hosts import Host
from shared.core.model import Ending, Writer
from shared.core.reacting import close_attempt, go_on, left_by, react
from shared.core.situation import Situation
from shared.core.stages import Event


def judge_gang(now: Situation) -> Situation:
    """End the gang when one host failed; judge when all ended, or after a while."""
    if not now.runs:
        return now
    writer = now.served.writer
    assert writer is not None, "a running job has a writer"
    now = _note_written(now, writer)
    start, hosts = start_of(now, writer), now.writers_hosts(writer)
    over = [host for host in hosts if causes.is_over(host, start)]
    now = _end_gang(now, start, over, len(hosts)) if over else _end_half(now, start, hosts)
    ending = now.served.ending
    is_late = ending is not None and now.since(ending.since) >= now.policy.judge_s
    if not is_late and (not over or len(over) < len(hosts)):
        return now
    return _judge(now, start, hosts)


def start_of(now: Situation, writer: Writer) -> causes.Start:
    """Say what the writer's hosts were told to run."""
    job = now.served
    return causes.Start(
        job.id, writer.attempt, job.spec_sha256, writer.start_sequence, writer.boots
    )


def _note_written(now: Situation, writer: Writer) -> Situation:
    """Remember when the start was first seen written: nobody can have read it before."""
    generation = now.slice.current
    if writer.start_written_at is not None or generation is None:
        return now
    if generation.mandate.written < writer.start_sequence:
        return now
    return now.with_writer(start_written_at=now.now)


def _end_gang(now: Situation, start: causes.Start, over: Sequence[Host], hosts: int) -> Situation:
    """Stop the others at once after a failure, and after a while after a success."""
    if now.served.ending is not None:
        return now
    bad = [host for host in over if causes.rebooted(host, start) or not _is_clean(host, start)]
    if bad:
        why = f"host {bad[0].host} {'could not start' if causes.failed(bad[0], start) else 'ended'}"
        ending = Ending(start.attempt, now.now, why)
        return now.with_job(ending=ending).note("GangEnding", f"{why}: stopping the others")
    if len(over) == hosts:
        return now
    since = now.served.finishing_since
    if since is None:
        return now.with_job(finishing_since=now.now)
    if now.since(since) < now.spec.finish_grace_s:
        return now
    why = f"{len(over)} of {hosts} hosts finished, the others did not"
    ending = Ending(start.attempt, now.now, why, cause=Cause.HANG)
    return now.with_job(ending=ending).note("GangEnding", why)


def _is_clean(host: Host, start: causes.Start) -> bool:
    return causes.ended(host, start) and host.attempt.is_clean


def _end_half(now: Situation, start: causes.Start, hosts: Sequence[Host]) -> Situation:
    """A host that speaks and still has not begun cannot read its orders, or not obey them."""
    written_at = now.served.writer.start_written_at if now.served.writer else None
    if now.served.ending is not None or written_at is None:
        return now
    late_at = written_at + timedelta(seconds=now.policy.start_s)
    cut_off = [
        host
        for host in hosts
        if host.received_at is not None
        and min(host.received_at, host.published_at or host.received_at) >= late_at
        and not causes.has_begun(host, start)
    ]
    if not cut_off:
        return now
    has_read = cut_off[0].seen_sequence >= start.sequence
    why = f"host {cut_off[0].host} does not {'start' if has_read else 'read its orders'}"
    ending = Ending(start.attempt, now.now, why, cause=Cause.CUT_OFF)
    return now.with_job(ending=ending).note("GangEnding", f"{why}: stopping the others")


def _judge(now: Situation, start: causes.Start, hosts: Sequence[Host]) -> Situation:
    verdict = causes.judge(hosts, start)
    ending = None if _all_succeeded(now, start, hosts) else now.served.ending
    cause = (ending.cause if ending else None) or verdict.cause
    now = now.with_job(cause=cause, exit_code=verdict.exit_code)
    left = left_by(now, cause)
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
    if ending is not None and ending.is_ordered:
        return go_on(now, cause, ending.why)
    return react(now.with_job(evidence=verdict.evidence), cause, _end_text(verdict), left)


def _all_succeeded(now: Situation, start: causes.Start, hosts: Sequence[Host]) -> bool:
    """Whoever finished before an order to restart reached them has nothing to go on with."""
    ending = now.served.ending
    return (
        ending is not None and ending.is_ordered and all(_is_clean(host, start) for host in hosts)
    )


def _end_text(verdict: causes.Verdict) -> str:
    if verdict.host is None:
        return "no host said why"
    how = f"signal {verdict.signal}" if verdict.signal else f"exit code {verdict.exit_code}"
    return f"host {verdict.host}, {how}"
