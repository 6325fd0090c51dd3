"""What a job does about a cause that left its slice alive, and how an attempt is closed."""

from __future__ import annotations

from datetime import datetime

from shared.core.causes import Cause
from shared.core.letting_go import condemn
from shared.core.rules import FROM_SCRATCH, NEW_SLICE, Action, Decision, Rules, decide_action
from shared.core.situation import Situation
from shared.core.stages import Event


def react(now: Situation, cause: Cause, detail: str) -> Situation:
    """Do what the job's rule says for a cause that left the slice alive."""
    decision = decision_on(now, cause, advanced=_has_advanced(now))
    text = f"{cause} ({detail}): {decision.why}"
    if decision.action is Action.STOP:
        ended = str(decision.ended)
        return now.advance(Event.JOB_FAILED, text, why=ended, reason=text, ended_at=now.now)
    fresh = decision.action in FROM_SCRATCH
    now = from_scratch(now) if fresh else now.with_job(resumes=now.served.resumes + 1)
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


def decision_on(now: Situation, cause: Cause, *, advanced: bool) -> Decision:
    """Ask the served job's rules and budgets what a cause calls for."""
    spec = now.spec
    rules = Rules(spec.rule, spec.on, spec.budgets.preemptions, spec.budgets.failures)
    return decide_action(rules, cause, now.served.spent, advanced=advanced)


def close_attempt(now: Situation, cause: Cause, *, noticed_at: datetime | None = None) -> Situation:
    """Record why the newest attempt ended, once."""
    attempt = now.attempt
    if attempt is None or attempt.ended_at is not None:
        return now
    now = now.with_attempt(cause=cause, ended_at=now.now, noticed_at=noticed_at)
    text = f"attempt {attempt.number}: {cause}"
    return now.note("AttemptEnded", text, public=True, why=cause)


def from_scratch(now: Situation) -> Situation:
    """Begin a new run: its folder is new, nothing of the last one is used or touched."""
    job = now.served
    return now.with_job(run=job.run + 1, resumes=0, from_step=None, checkpoint=None, progress=None)


def _has_advanced(now: Situation) -> bool:
    """The attempt left a newer checkpoint than it started from."""
    attempt, checkpoint = now.attempt, now.served.checkpoint
    if attempt is None or checkpoint is None:
        return False
    return checkpoint.step > (attempt.known_step if attempt.known_step is not None else -1)
