"""What there is to see of one job: read once, then shown as text or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cli.jobs import JobRow
from shared.core.codec import from_fields
from shared.core.model import Attempt, Job
from shared.core.slices import Slice
from shared.ports import Document, Fields, Query, Store

ATTEMPTS_MAX: Final = 2000
TIMELINE_MAX: Final = 5000


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One sentence about one change."""

    at: datetime
    who: str = ""
    event: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class JobView:
    """One job, its slice, its attempts and its timeline, all as of ``now``."""

    job: Job
    slice: Slice | None
    attempts: Sequence[Attempt]
    timeline: Sequence[TimelineEntry]
    now: datetime
    stored: dict[str, Any]


def read_view(store: Store, row: JobRow) -> JobView:
    """Read all documents of a job."""
    job = from_fields(Job, row.fields)
    slice_fields = _slice_of(store, job)
    attempts = _sorted(store.query(Query(f"jobs/{job.id}/attempts", limit=ATTEMPTS_MAX)))
    timeline = store.query(Query(f"jobs/{job.id}/timeline", limit=TIMELINE_MAX))
    return JobView(
        job=job,
        slice=from_fields(Slice, slice_fields) if slice_fields else None,
        attempts=[from_fields(Attempt, found.fields) for found in attempts],
        timeline=[from_fields(TimelineEntry, found.fields) for found in timeline],
        now=row.read_at,
        stored={
            "job": row.fields,
            "slice": slice_fields,
            "attempts": [found.fields for found in attempts],
            "timeline": [found.fields for found in timeline],
        },
    )


def _slice_of(store: Store, job: Job) -> Fields | None:
    """Read the slice of a job, unless another one has taken the name."""
    document = store.get(f"slices/{job.slice}") if job.slice else None
    if document is None or document.fields["uid"] != job.slice_uid:
        return None
    return document.fields


def _sorted(attempts: Sequence[Document]) -> list[Document]:
    """Order by number: the order of paths would put 10 before 2."""
    return sorted(attempts, key=lambda document: int(document.path.rpartition("/")[2]))
