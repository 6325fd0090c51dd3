"""What a job does about a cause that left its slice alive, and how an attempt is closed."""

from __future__ import annotations

from datetime import datetime

from shared.core.causes import Cause
from shared.core.letting_go import condemn
from shared.core.model import Attempt, FailedRestore, Job
from shared.core.rules import (
    FROM_SCRATCH,
    GROUP_OF,
    NEW_SLICE,
    Action,
    Decision,
    Ended,
    Group,
    Left,
    Rules,
    decide_action,
)
from shared.core.situation import Situation
from shared.core.stages import Event

# Ends that are the program's own: what it does with its checkpoint shows in them.
_OF_PROGRAM = frozenset({Cause.ERROR, Cause.OOM, Cause.HANG})


def react(now: Situation, cause: Cause, detail: str, left: Left = Left()) -> Situation:  # noqa: B008 - immutable
    """Do what the job's rule says for a cause that left the slice alive."""
    decision = decision_on(now, cause, left)
    text = f"{cause} ({detail}): {_why(now.served, decision)}"
    if decision.action is Action.STOP:
        ended = str(decision.ended)
        return now.advance(Event.JOB_FAILED, text, why=ended, reason=text, ended_at=now.now)
    now = again_by(now, decision.action)
    if decision.action in NEW_SLICE:
        current = now.slice.current
        assert current is not None, "a running job has a current generation"
        now = condemn(now, current, str(cause), delete_in_s=0.0)
        return now.advance(Event.SLICE_LOST, text, why=cause, spent=decision.spent)
    return now.advance(
        Event.ATTEMPT_RETRIED,
        text,
        why=cause,
        prepare_since=now.now,
        prepared_at=None,
        spent=decision.spent,
    )


def go_on(now: Situation, cause: Cause, why: str) -> Situation:
    """Prepare the next attempt on the same slice because its owner wants it: nothing is spent."""
    return resumed(now).advance(
        Event.ATTEMPT_RETRIED, why, why=cause, prepare_since=now.now, prepared_at=None
    )


def _why(job: Job, decision: Decision) -> str:
    """Say which step to go on from, where the newest cannot be restored."""
    failed = job.failed_restore
    if decision.ended is not Ended.BAD_CHECKPOINT or failed is None:
        return decision.why
    first, last = failed.attempts[-2:]
    earlier, number = job.earlier_step, job.number
    advice = (
        f"begin again: tpuctl rerun {number}"
        if earlier is None
        else f"go on from an earlier one: tpuctl resume {number} --from-step {earlier}"
    )
    return f"attempts {first} and {last} both failed while restoring step {failed.step}; {advice}"


def decision_on(now: Situation, cause: Cause, left: Left) -> Decision:
    """Ask the served job's rules and budgets what a cause calls for."""
    spec, spent = now.spec, now.served.spent
    rules = Rules(spec.rule, spec.on, spec.budgets.preemptions, spec.budgets.failures)
    decision = decide_action(rules, cause, spent, left)
    needs_another = decision.action in NEW_SLICE or GROUP_OF[cause] is Group.GONE
    if decision.action is Action.STOP or not needs_another or now.slice.can_be_made:
        return decision
    number = now.served.number
    why = f"{now.slice.name} was adopted and is not made again: tpuctl resume {number} --on SLICE"
    return Decision(Action.STOP, why, spent, Ended.RULE)


def left_by(now: Situation, cause: Cause) -> Left:
    """Say what the newest attempt leaves behind: asked when it ends, and nothing after that."""
    attempt = now.attempt
    if attempt is None or attempt.ended_at is not None:
        return Left()
    failed = _failed_restore(now, attempt, cause)
    is_its = failed is not None and attempt.number in failed.attempts
    return Left(
        advanced=_has_advanced(attempt),
        moved=now.served.checkpoint is None and attempt.last_step is not None,
        failed_restores=len(failed.attempts) if failed is not None and is_its else 0,
    )


def close_attempt(now: Situation, cause: Cause, *, noticed_at: datetime | None = None) -> Situation:
    """Record why the newest attempt ended, once; how far its gang's end had come goes with it."""
    attempt = now.attempt
    if attempt is None or attempt.ended_at is not None:
        return now
    failed = _failed_restore(now, attempt, cause)
    now = now.with_job(failed_restore=failed, ending=None, finishing_since=None)
    now = now.with_attempt(cause=cause, ended_at=now.now, noticed_at=noticed_at)
    text = f"attempt {attempt.number}: {cause}"
    return now.note("AttemptEnded", text, public=True, why=cause)


def again_by(now: Situation, action: Action) -> Situation:
    """Go on with the run, or begin a new one, as an action says."""
    return from_scratch(now) if action in FROM_SCRATCH else resumed(now)


def from_scratch(now: Situation) -> Situation:
    """Begin a new run: its folder is new, nothing of the last one is used or touched."""
    return now.with_job(
        run=now.served.run + 1,
        resumes=0,
        from_step=None,
        checkpoint=None,
        progress=None,
        steps=(),
        failed_restore=None,
    )


def resumed(now: Situation) -> Situation:
    """Go on with the run: resumed once after an attempt, however often the next is prepared."""
    attempt, job = now.attempt, now.served
    if attempt is None or attempt.run != job.run:
        return now
    return now.with_job(resumes=attempt.resumes + 1)


def _has_advanced(attempt: Attempt) -> bool:
    """The attempt left a newer checkpoint than it started from."""
    newest, known = attempt.checkpoint_step, attempt.known_step
    if newest is None or newest <= (known if known is not None else -1):
        return False
    # After a chosen step the newest one may be an older one than it: it must have been reached.
    return attempt.from_step is None or (attempt.last_step or 0) + 1 >= newest


def _failed_restore(now: Situation, attempt: Attempt, cause: Cause) -> FailedRestore | None:
    """Remember attempts that fail before their first step; one that got further ends the row.

    Where steps were never seen in this run, nobody can say that there was none.
    """
    before, step = now.served.failed_restore, attempt.start_step
    has_moved = attempt.last_step is not None and attempt.last_step > (step or 0)
    if step is None or has_moved or now.served.progress is None:
        return None
    if cause not in _OF_PROGRAM:
        return before
    is_same = before is not None and before.step == step
    row = before.attempts if before is not None and is_same else ()
    return FailedRestore(step, (*row, attempt.number))
