"""How long slices are still kept for the fix of a job that is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from cli.installation import Installation
from cli.jobs import JobRow
from cli.tables import duration
from shared.ports import Query, Where

SLICES_MAX: Final = 1000


def held_for(installation: Installation, jobs: Sequence[JobRow]) -> Mapping[str, str]:
    """Return the time that is left, by the job's id; jobs at work are not asked about."""
    over = [job for job in jobs if job.is_over]
    if not over:
        return {}
    now = max(job.read_at for job in over)
    query = Query("slices", (Where("held_until", ">", now),), limit=SLICES_MAX)
    held: dict[tuple[object, object], str] = {}
    for document in installation.store.query(query):
        until = document.fields["held_until"]
        assert isinstance(until, datetime), "nothing else is later than a time"
        held[document.fields["name"], document.fields["uid"]] = duration(until - now)
    slices = {job.id: (job.fields["slice"], job.fields["slice_uid"]) for job in over}
    return {id_: held[key] for id_, key in slices.items() if key in held}
