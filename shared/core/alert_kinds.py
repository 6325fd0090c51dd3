"""The words of alerts: what they are about and how loud they are (docs/alerts.md).

Subscribers filter by them, so a word is never taken back and never changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class AlertKind(StrEnum):
    """What an alert is about, for whoever filters and routes."""

    PREEMPTED = "preempted"
    SLICE_LOST = "slice_lost"
    RETRYING = "retrying"
    RECOVERED = "recovered"
    STUCK = "stuck"
    UNKNOWN = "unknown"
    SEEN_AGAIN = "seen_again"
    CRASH_LOOP = "crash_loop"
    BAD_CHECKPOINT = "bad_checkpoint"
    BUDGET_SPENT = "budget_spent"
    FAILED = "failed"
    SUCCEEDED = "succeeded"
    CONTROL_PLANE_DEGRADED = "control_plane_degraded"
    CONTROL_PLANE_RESTORED = "control_plane_restored"
    WAITING = "waiting"
    SLICE_READY = "slice_ready"
    STARTED = "started"
    ATTEMPT_ENDED = "attempt_ended"
    STOPPING = "stopping"
    CANCELLED = "cancelled"
    RESUMED = "resumed"
    OTHER = "other"


class Severity(StrEnum):
    """How loud an alert is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


# What a webhook is told that does not say what it wants: what somebody may have to act on, how
# it went on, and how it ended. The others are for subscribers of the topic.
USUAL_KINDS = tuple(AlertKind)[: list(AlertKind).index(AlertKind.WAITING)]

# How a job ended by itself: told whatever else is going on.
FINAL_KINDS = frozenset(
    {
        AlertKind.CRASH_LOOP,
        AlertKind.BAD_CHECKPOINT,
        AlertKind.BUDGET_SPENT,
        AlertKind.FAILED,
        AlertKind.SUCCEEDED,
    }
)

_SEVERITIES: Mapping[AlertKind, Severity] = {
    AlertKind.PREEMPTED: Severity.WARNING,
    AlertKind.SLICE_LOST: Severity.WARNING,
    AlertKind.RETRYING: Severity.WARNING,
    AlertKind.STUCK: Severity.WARNING,
    AlertKind.UNKNOWN: Severity.WARNING,
    AlertKind.CRASH_LOOP: Severity.ERROR,
    AlertKind.BAD_CHECKPOINT: Severity.ERROR,
    AlertKind.BUDGET_SPENT: Severity.ERROR,
    AlertKind.FAILED: Severity.ERROR,
    AlertKind.CONTROL_PLANE_DEGRADED: Severity.ERROR,
}


def severity_of(kind: AlertKind) -> Severity:
    """Say how loud a kind is."""
    return _SEVERITIES.get(kind, Severity.INFO)
