"""What hosts say of an attempt, written down: times, progress, checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

from shared.core.hosts import Checkpoint, Host
from shared.core.situation import Situation

# Who cannot restore the newest checkpoint is told of one before it; programs keep but a few.
STEPS_MAX = 8


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
        now = _record_start(now, checkpoint.step) if not told else now
        now = now.with_attempt(checkpoint_step=checkpoint.step)
        now = _record_checkpoint(now, checkpoint) if is_newest else now
    return now


def _record_checkpoint(now: Situation, newest: Checkpoint) -> Situation:
    """Remember the newest complete checkpoint, and a few before it."""
    job = now.served
    if newest == job.checkpoint:
        return now
    steps = tuple(sorted({*job.steps, newest.step}))[-STEPS_MAX:]
    # What was there before the chosen step was told is what that step was chosen against; so is
    # what the attempt before it saved, and tells late.
    attempt = now.attempt
    is_past = (
        attempt is not None
        and attempt.from_step is not None
        and job.checkpoint is not None
        and newest.step > max(job.checkpoint.step, job.from_step or 0)
    )
    chosen = None if is_past else job.from_step
    return now.with_job(checkpoint=newest, steps=steps, from_step=chosen)


def _record_start(now: Situation, found: int) -> Situation:
    """The first checkpoint that is found, before any step, is what the attempt goes on from.

    One that was completed just before a silent loss is not known before that. What is shown gets
    better by it; crash loops are judged by what was known at the start.
    """
    attempt = now.attempt
    assert attempt is not None, "hosts speak of an attempt that is there"
    is_first = attempt.checkpoint_step is None and attempt.last_step is None
    if not is_first or attempt.from_step is not None or attempt.known_step is None:
        return now
    return now.with_attempt(start_step=max(found, attempt.known_step))
