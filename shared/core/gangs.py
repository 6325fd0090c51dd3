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
    hosts = now.writers_hosts(writer)
    over = [host for host in hosts if _is_over(now, host, writer)]
    now = _end_gang(now, writer, over, len(hosts)) if over else _end_half(now, writer, hosts)
    ending = now.served.ending
    is_late = ending is not None and now.since(ending.since) >= now.policy.judge_s
    if not is_late and (not over or len(over) < len(hosts)):
        return now
    return _judge(now, writer, hosts)


def _note_written(now: Situation, writer: Writer) -> Situation:
    """Remember when the start was first seen written: nobody can have read it before."""
    generation = now.slice.current
    if writer.start_written_at is not None or generation is None:
        return now
    if generation.mandate.written < writer.start_sequence:
        return now
    return now.with_writer(start_written_at=now.now)


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
    ending = Ending(writer.attempt, now.now, why, cause=Cause.HANG)
    return now.with_job(ending=ending).note("GangEnding", why)


def _end_half(now: Situation, writer: Writer, hosts: Sequence[Host]) -> Situation:
    """A host that speaks and still has not seen the start cannot read its orders."""
    if now.served.ending is not None or writer.start_written_at is None:
        return now
    late_at = writer.start_written_at + timedelta(seconds=now.policy.start_s)
    cut_off = [
        host
        for host in hosts
        if host.received_at is not None
        and min(host.received_at, host.published_at or host.received_at) >= late_at
        and host.seen_sequence < writer.start_sequence
    ]
    if not cut_off:
        return now
    why = f"host {cut_off[0].host} does not read its orders"
    ending = Ending(writer.attempt, now.now, why, cause=Cause.CUT_OFF)
    return now.with_job(ending=ending).note("GangEnding", f"{why}: stopping the others")


def _judge(now: Situation, writer: Writer, hosts: Sequence[Host]) -> Situation:
    verdict = causes.judge(hosts, job=now.served.id, attempt=writer.attempt, boots=writer.boots)
    ending = None if _all_succeeded(now, writer, hosts) else now.served.ending
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


def _all_succeeded(now: Situation, writer: Writer, hosts: Sequence[Host]) -> bool:
    """Whoever finished before an order to restart reached them has nothing to go on with."""
    ending = now.served.ending
    return (
        ending is not None
        and ending.is_ordered
        and all(_is_over(now, host, writer) and host.attempt.is_clean for host in hosts)
    )


def _end_text(verdict: causes.Verdict) -> str:
    if verdict.host is None:
        return "no host said why"
    how = f"signal {verdict.signal}" if verdict.signal else f"exit code {verdict.exit_code}"
    return f"host {verdict.host}, {how}"
