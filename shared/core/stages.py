"""The stages of a job, and the only way from one to another.

The table is data: a pair that is missing is illegal and raises, it is never ignored. The
diagram in docs/job-stages.md is generated from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from shared.errors import IllegalTransition


class Stage(StrEnum):
    """Where a job is."""

    QUEUED = "queued"
    PROVISIONING = "provisioning"
    PREPARING = "preparing"
    RUNNING = "running"
    RECOVERING = "recovering"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Event(StrEnum):
    """What can happen to a job."""

    SLICE_WANTED = "SliceWanted"
    SLICE_CLAIMED = "SliceClaimed"
    ATTEMPT_STARTED = "AttemptStarted"
    ATTEMPT_RETRIED = "AttemptRetried"
    ATTEMPT_SUCCEEDED = "AttemptSucceeded"
    JOB_FAILED = "JobFailed"
    SLICE_LOST = "SliceLost"
    STOP_ORDERED = "StopOrdered"
    WRITER_DEAD = "WriterDead"
    RESUME_ORDERED = "ResumeOrdered"


TERMINAL = frozenset({Stage.SUCCEEDED, Stage.FAILED, Stage.CANCELLED})

# Stages in which a slice's hosts have, or may have, something to do for the job.
ON_A_SLICE = frozenset({Stage.PREPARING, Stage.RUNNING})

TRANSITIONS: Mapping[tuple[Stage, Event], Stage] = {
    (Stage.QUEUED, Event.SLICE_WANTED): Stage.PROVISIONING,
    (Stage.QUEUED, Event.SLICE_CLAIMED): Stage.PREPARING,
    (Stage.QUEUED, Event.JOB_FAILED): Stage.FAILED,
    (Stage.QUEUED, Event.STOP_ORDERED): Stage.STOPPING,
    (Stage.PROVISIONING, Event.SLICE_CLAIMED): Stage.PREPARING,
    (Stage.PROVISIONING, Event.JOB_FAILED): Stage.FAILED,
    (Stage.PROVISIONING, Event.STOP_ORDERED): Stage.STOPPING,
    (Stage.PREPARING, Event.ATTEMPT_STARTED): Stage.RUNNING,
    (Stage.PREPARING, Event.ATTEMPT_RETRIED): Stage.PREPARING,
    (Stage.PREPARING, Event.SLICE_LOST): Stage.RECOVERING,
    (Stage.PREPARING, Event.JOB_FAILED): Stage.FAILED,
    (Stage.PREPARING, Event.STOP_ORDERED): Stage.STOPPING,
    (Stage.RUNNING, Event.ATTEMPT_RETRIED): Stage.PREPARING,
    (Stage.RUNNING, Event.ATTEMPT_SUCCEEDED): Stage.SUCCEEDED,
    (Stage.RUNNING, Event.SLICE_LOST): Stage.RECOVERING,
    (Stage.RUNNING, Event.JOB_FAILED): Stage.FAILED,
    (Stage.RUNNING, Event.STOP_ORDERED): Stage.STOPPING,
    (Stage.RECOVERING, Event.SLICE_CLAIMED): Stage.PREPARING,
    (Stage.RECOVERING, Event.JOB_FAILED): Stage.FAILED,
    (Stage.RECOVERING, Event.STOP_ORDERED): Stage.STOPPING,
    (Stage.STOPPING, Event.SLICE_LOST): Stage.STOPPING,
    (Stage.STOPPING, Event.WRITER_DEAD): Stage.CANCELLED,
    (Stage.STOPPING, Event.RESUME_ORDERED): Stage.QUEUED,
    (Stage.SUCCEEDED, Event.RESUME_ORDERED): Stage.QUEUED,
    (Stage.FAILED, Event.RESUME_ORDERED): Stage.QUEUED,
    (Stage.CANCELLED, Event.RESUME_ORDERED): Stage.QUEUED,
}


def advance(stage: Stage, event: Event) -> Stage:
    """Return the stage that follows.

    Raises:
        IllegalTransition: the table has no row for the pair.
    """
    following = TRANSITIONS.get((stage, event))
    if following is None:
        raise IllegalTransition(stage, event)
    return following


def can(stage: Stage, event: Event) -> bool:
    """Tell whether the table has a row for the pair."""
    return (stage, event) in TRANSITIONS


def mermaid() -> str:
    """Draw the table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> queued"]
    lines += [f"    {old} --> {new}: {event}" for (old, event), new in TRANSITIONS.items()]
    lines += [f"    {stage} --> [*]" for stage in Stage if stage in TERMINAL]
    return "\n".join(lines) + "\n"
