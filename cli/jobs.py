"""Find jobs by what people call them, and read their documents as plain fields.

Documents are read as the mappings they are: making dataclasses of two hundred jobs would cost
more than everything else that ``ps`` does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cli.errors import NotFoundError
from cli.installation import Installation, say_aside
from cli.near import near_names
from cli.tables import printable
from shared.ports import Document, Query, Store, Where

LAST: Final = "@last"
ACTIVE_STAGES: Final = (
    "running",
    "preparing",
    "recovering",
    "provisioning",
    "queued",
    "stopping",
)
OVER_STAGES: Final = frozenset({"succeeded", "failed", "cancelled"})
NO_ATTEMPT: Final = -1
NUMBER_MAX: Final = 2**53
LOOKED_AT_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class JobRow:
    """One job's document."""

    fields: Mapping[str, Any]
    read_at: datetime
    updated_at: datetime

    @property
    def name(self) -> str:
        """What its owner called it."""
        return str(self.fields["name"])

    @property
    def attempt(self) -> int:
        """The number of the newest attempt; -1 before the first."""
        return int(self.fields.get("attempt", NO_ATTEMPT))

    @property
    def summary(self) -> str:
        """What happens now, or why nothing more does, on one line."""
        return printable(str(self.fields.get("summary") or self.fields.get("reason") or ""))

    @property
    def step(self) -> str:
        """How far it is: ``140/300``, ``140``, or a dash."""
        progress = self.fields.get("progress") or {}
        step, total = progress.get("step"), progress.get("total")
        if step is None:
            return "-"
        return f"{step}" if total is None else f"{step}/{total}"

    @property
    def id(self) -> str:
        """The id that the client made."""
        return str(self.fields["id"])

    @property
    def number(self) -> int:
        """The short number."""
        return int(self.fields["number"])

    @property
    def folder(self) -> str:
        """Its team's folder of the bucket, in which it reads and writes; empty without a team."""
        return str(self.fields.get("folder") or "")

    @property
    def member(self) -> str:
        """What lists of teams name its owner by."""
        return str(self.fields.get("owner_email") or self.fields["owner"])

    @property
    def stage(self) -> str:
        """Where the job is."""
        return str(self.fields["stage"])

    @property
    def is_over(self) -> bool:
        """Only a user's resume or rerun leads on from here."""
        return self.stage in OVER_STAGES


def find_job(installation: Installation, name: str) -> JobRow:
    """Find a job by number, ``@last``, id or name.  Raises NotFoundError."""
    store, owner = installation.store, installation.owner
    found = _candidates(store, owner, name)
    if len(found) == 1:
        return found[0]
    if found:
        numbers = ", ".join(str(job.number) for job in found)
        raise NotFoundError(
            f"{name!r} is the name of several jobs: {numbers}",
            next_step="use the number of one of them",
        )
    raise _unknown(store, owner, name)


def read_job(store: Store, job_id: str) -> JobRow:
    """Read a job again."""
    document = store.get(f"jobs/{job_id}")
    if document is None:
        raise NotFoundError(f"job {job_id} is gone", next_step="tpuctl ps --all")
    return _row(document)


def hosts_of(installation: Installation, job: JobRow) -> int:
    """Return how many hosts a job's slice has; 0 where another slice has taken its name."""
    document = installation.store.get(f"slices/{job.fields['slice']}")
    if document is None or document.fields["uid"] != job.fields["slice_uid"]:
        return 0
    return int(document.fields["hosts"])  # type: ignore[arg-type]  # a number, by the model


def list_jobs(store: Store, owner: str, limit: int) -> list[JobRow]:
    """Return the newest jobs and all active ones: first those at work, then by age."""
    newest = _query(store, owner, limit=limit)
    found = {job.id: job for job in newest}
    if len(newest) == limit:
        # What still runs may be older than everything that was read.
        for stage in ACTIVE_STAGES:
            for job in _query(store, owner, Where("stage", "==", stage), limit=limit):
                found.setdefault(job.id, job)
    order = {stage: index for index, stage in enumerate(ACTIVE_STAGES)}
    jobs = sorted(found.values(), key=lambda job: (order.get(job.stage, len(order)), -job.number))
    return jobs[: max(limit, sum(not job.is_over for job in jobs))]


def warn_without_runner(installation: Installation, jobs: Sequence[JobRow] | None = None) -> None:
    """Say that what is shown, of jobs at work or of slices, will not change by itself."""
    problem = installation.missing_runner()
    if problem is not None and (jobs is None or not all(job.is_over for job in jobs)):
        say_aside(f"{problem}, so nothing will happen; next: {problem.next_step}")


def _candidates(store: Store, owner: str, name: str) -> list[JobRow]:
    if name == LAST:
        return _query(store, owner, limit=1)
    if name.isascii() and name.isdecimal():
        # More digits than any store holds: no job has such a number.
        number = int(name[:20])
        return _query(store, owner, Where("number", "==", number)) if number < NUMBER_MAX else []
    if not name.isascii() or not name.replace("-", "").isalnum():
        return []
    document = store.get(f"jobs/{name}")
    if document is not None:
        return [_row(document)]
    named = _query(store, owner, Where("name", "==", name))
    return sorted(named, key=lambda job: job.number)


def _query(store: Store, owner: str, *where: Where, limit: int = LOOKED_AT_MAX) -> list[JobRow]:
    # Conditions on two fields and an order by a third would need an index of their own.
    order_by = "-number" if not where else None
    conditions = (Where("owner", "==", owner), *where)
    return [_row(found) for found in store.query(Query("jobs", conditions, order_by, limit))]


def _row(document: Document) -> JobRow:
    return JobRow(document.fields, document.read_at, document.updated_at)


def _unknown(store: Store, owner: str, name: str) -> NotFoundError:
    jobs = _query(store, owner)
    if not jobs:
        return NotFoundError(f"there is no job {name!r}; there is none yet", next_step="tpuctl run")
    names = {job.name: job.number for job in reversed(jobs)}
    near = [f"{known} ({names[known]})" for known in near_names(name, names)]
    newest = jobs[0].number
    hint = f"near: {', '.join(near)}" if near else f"the newest is {newest}"
    return NotFoundError(f"there is no job {name!r}; {hint}", next_step="tpuctl ps --all")
