"""What there is to see of one slice: read once, then shown as text or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cli.job_view import TimelineEntry
from shared.core.codec import from_fields
from shared.core.hosts import Host
from shared.core.slices import Slice
from shared.ports import Document, Query, Store, Where

HOSTS_MAX: Final = 1000
TIMELINE_MAX: Final = 5000


@dataclass(frozen=True, slots=True)
class SliceView:
    """One slice, its hosts, its job's number and its own timeline, all as of ``now``."""

    slice: Slice
    hosts: Sequence[tuple[Host, datetime]]
    job: int | None
    timeline: Sequence[TimelineEntry]
    now: datetime
    stored: dict[str, Any]


def read_view(store: Store, document: Document) -> SliceView:
    """Read all documents of a slice."""
    slice_ = from_fields(Slice, document.fields)
    hosts = store.query(
        Query(
            f"{document.path}/hosts",
            (Where("generation", "==", slice_.generation),),
            limit=HOSTS_MAX,
        )
    )
    hosts = [found for found in hosts if found.fields["slice_uid"] == slice_.uid]
    timeline = store.query(Query(f"{document.path}/timeline", limit=TIMELINE_MAX))
    job = store.get(f"jobs/{slice_.job}") if slice_.job else None
    return SliceView(
        slice=slice_,
        hosts=[(from_fields(Host, found.fields), found.updated_at) for found in hosts],
        job=int(str(job.fields["number"])) if job else None,
        timeline=[from_fields(TimelineEntry, found.fields) for found in timeline],
        now=document.read_at,
        stored={
            "slice": document.fields,
            "hosts": [found.fields for found in hosts],
            "timeline": [found.fields for found in timeline],
        },
    )
