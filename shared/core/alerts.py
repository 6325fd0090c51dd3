"""What people are told: the alert, as it stands on the topic ``alerts`` (docs/alerts.md).

It is a public contract: anybody may subscribe. An alert follows from a public note and from the
documents that are committed with it, so the same change always makes the same alert.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from functools import cache

from pydantic import AwareDatetime, TypeAdapter, ValidationError

from shared.core.alert_kinds import AlertKind, severity_of
from shared.core.causes import Cause
from shared.core.model import NO_ATTEMPT, Attempt, Job
from shared.core.rules import Ended
from shared.core.situation import Note, Situation
from shared.core.stages import Event
from shared.errors import InvalidRequest

ALERT_VERSION = 1


# Events that do not need a second look; the others are told apart in ``kind_of``.
_KINDS: Mapping[str, AlertKind] = {
    Event.SLICE_WANTED: AlertKind.WAITING,
    "BidReady": AlertKind.SLICE_READY,
    "AttemptEnded": AlertKind.ATTEMPT_ENDED,
    Event.ATTEMPT_RETRIED: AlertKind.RETRYING,
    Event.ATTEMPT_SUCCEEDED: AlertKind.SUCCEEDED,
    Event.STOP_ORDERED: AlertKind.STOPPING,
    Event.WRITER_DEAD: AlertKind.CANCELLED,
    Event.RESUME_ORDERED: AlertKind.RESUMED,
    "JobStuck": AlertKind.STUCK,
    "SliceUnknown": AlertKind.UNKNOWN,
    "SliceSeen": AlertKind.SEEN_AGAIN,
}
_ENDS: Mapping[str, AlertKind] = {
    Ended.BUDGET: AlertKind.BUDGET_SPENT,
    Ended.CRASH_LOOP: AlertKind.CRASH_LOOP,
    Ended.BAD_CHECKPOINT: AlertKind.BAD_CHECKPOINT,
}


@dataclass(frozen=True, slots=True)
class AlertJob:
    """The job that an alert is about; ``number`` counts its owner's jobs."""

    id: str
    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that happened.  ``id`` is the same however often the alert is delivered.

    ``owner`` is empty for what concerns the installation as a whole. ``kind`` and ``severity``
    are words that a newer version may add to.
    """

    version: int
    id: str
    at: AwareDatetime
    kind: str
    event: str
    severity: str
    owner: str
    job: AlertJob | None
    slice: str
    generation: int | None
    attempt: int | None
    text: str
    reason: str
    downtime_s: float | None
    link: str = ""


def alerts_of(now: Situation) -> Iterator[Alert]:
    """Say what the public notes of a decision mean, for its commit."""
    for index, note in enumerate(now.notes):
        if note.public:
            yield alert_of(note, now, index)


def alert_of(note: Note, now: Situation, index: int = 0) -> Alert:
    """Make the alert of one note.  Its id names the commit and the note's place in it."""
    job = now.job
    downtime_s = downtime_of(now) if note.event == Event.ATTEMPT_STARTED else None
    kind = kind_of(note, downtime_s)
    return Alert(
        version=ALERT_VERSION,
        id=f"{now.slice.uid}-{now.slice.revision:08d}-n{index}",
        at=now.now,
        kind=kind,
        event=str(note.event),
        severity=severity_of(kind),
        owner=job.owner if job else now.slice.owner,
        job=AlertJob(job.id, job.number, job.name) if job else None,
        slice=now.slice.name,
        generation=now.slice.generation,
        attempt=job.attempt if job and job.attempt != NO_ATTEMPT else None,
        text=note.text,
        reason=str(job.cause or "") if job and note.event == Event.JOB_FAILED else note.why,
        downtime_s=downtime_s,
    )


def installation_alert(
    kind: AlertKind, *, key: str, at: datetime, event: str, text: str, reason: str
) -> Alert:
    """Make an alert that is about no job: the installation itself.  ``key`` is its id."""
    return Alert(
        version=ALERT_VERSION,
        id=key,
        at=at,
        kind=kind,
        event=event,
        severity=severity_of(kind),
        owner="",
        job=None,
        slice="",
        generation=None,
        attempt=None,
        text=text,
        reason=reason,
        downtime_s=None,
    )


def kind_of(note: Note, downtime_s: float | None) -> AlertKind:
    """Say what a public note is about."""
    match note.event:
        case Event.SLICE_LOST:
            is_preempted = note.why == Cause.PREEMPTED
            return AlertKind.PREEMPTED if is_preempted else AlertKind.SLICE_LOST
        case Event.ATTEMPT_STARTED:
            return AlertKind.STARTED if downtime_s is None else AlertKind.RECOVERED
        case Event.JOB_FAILED:
            return _ENDS.get(note.why, AlertKind.FAILED)
        case _:
            return _KINDS.get(note.event, AlertKind.OTHER)


def downtime_of(now: Situation) -> float | None:
    """Seconds from the loss of the last attempt to the start of the one that was just begun.

    None where nothing was lost: for a first attempt, and for one that its owner ordered.
    """
    if now.job is None or len(now.attempts) < 2:  # noqa: PLR2004 - the last one and this one
        return None
    last, begun = now.attempts[-2:]
    lost_at = _lost_at(last, now.job)
    return None if lost_at is None else (begun.ordered_at - lost_at).total_seconds()


def _lost_at(last: Attempt, job: Job) -> datetime | None:
    lost_at = last.noticed_at or last.ended_at
    if lost_at is None or (job.again_at is not None and lost_at <= job.again_at):
        return None
    return lost_at


def fields_of(alert: Alert) -> Mapping[str, object]:
    """Write an alert as the fields of its message."""
    written = asdict(alert) | {"at": alert.at.isoformat()}
    if not alert.link:
        del written["link"]
    return written


@cache
def _adapter() -> TypeAdapter[Alert]:
    return TypeAdapter(Alert)


def parse_alert(data: bytes) -> Alert:
    """Read an alert; fields that a newer version added are ignored.  Raises InvalidRequest."""
    try:
        alert = _adapter().validate_json(data, strict=True)
    except ValidationError as error:
        old = _of_version_0(data)
        if old is not None:
            return old
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(each) for each in first["loc"]) or "the message"
        raise InvalidRequest(f"no alert: {where}: {first['msg']}") from None
    if alert.version != ALERT_VERSION:
        raise InvalidRequest(f"no alert: version {alert.version} is not known")
    return alert


def _of_version_0(data: bytes) -> Alert | None:
    """Read what was published before there was a contract: it is for the log alone."""
    try:
        old = _old_adapter().validate_json(data, strict=True)
    except ValidationError:
        return None
    alert = installation_alert(
        AlertKind.OTHER, key="", at=old.at, event=old.event, text=old.text, reason=""
    )
    job = AlertJob(old.job, old.number, old.name) if old.job else None
    return replace(alert, version=0, job=job, slice=old.slice)


@dataclass(frozen=True, slots=True)
class _Version0:
    event: str
    text: str
    who: str
    slice: str
    job: str
    number: int
    name: str
    at: AwareDatetime


@cache
def _old_adapter() -> TypeAdapter[_Version0]:
    return TypeAdapter(_Version0)


ALERT_FIELDS = tuple(field.name for field in fields(Alert))
