"""Everything that was done to a person's jobs and slices, and by whom, in the order of time.

Timelines say what happened, commands who ordered it. What people did and what followed from it by
itself stand in one list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cli.jobs import JobRow, list_jobs
from cli.tables import printable
from shared.core.orders import OrderKind, Verdict
from shared.ports import Document, Query, Store, Where

JOBS_MAX: Final = 200
ENTRIES_MAX: Final = 1000
SLICES_MAX: Final = 200
READERS: Final = 16
OURSELVES: Final = "tpuctl"
# What is still told of a job after its last change, such as that its slice is gone.
_AFTERMATH: Final = timedelta(days=1)
# The event by which a timeline tells that an order was carried out.
_TOLD_BY: Final[Mapping[str, str]] = {
    OrderKind.SUBMIT: "JobSubmitted",
    OrderKind.STOP: "StopOrdered",
    OrderKind.RESUME: "ResumeOrdered",
    OrderKind.RERUN: "ResumeOrdered",
}
# A command and what it caused are written in one commit, by two clocks.
_SAME: Final = timedelta(seconds=30)
# Orders about no job that everybody's jobs feel.
_FOR_ALL: Final = frozenset({OrderKind.PAUSE, OrderKind.UNPAUSE})


Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deed:
    """One thing that happened.  ``about`` is a job's number or a slice's name."""

    at: datetime
    who: str
    about: str
    event: str
    text: str


@dataclass(frozen=True, slots=True)
class History:
    """What happened, oldest first.  ``read_at`` is the Store's time, None if nothing was read."""

    deeds: Sequence[Deed]
    read_at: datetime | None


def read_history(store: Store, owner: str, since: datetime, job: JobRow | None = None) -> History:
    """Read what happened since a time to all jobs of an owner, or to one job."""
    found = [job] if job is not None else list_jobs(store, owner, JOBS_MAX)
    jobs = found if job is not None else _touched(found, since)
    commands = _commands(store, owner, since, {each.id for each in jobs}, of_one=job is not None)
    slices = _slices(store, owner) if job is None else []
    told = _timelines(store, [*map(_path, jobs), *(each.path for each in slices)], since)
    deeds = [deed for each in jobs for deed in _of_job(told[_path(each)], each, commands)]
    deeds += [deed for each in slices for deed in _of_slice(told[each.path], each)]
    numbers = {each.id: each.number for each in jobs}
    deeds += [_ordered(each, numbers) for each in commands.values()]
    read_at = min((each.read_at for each in found), default=None)
    return History(sorted(deeds, key=lambda deed: deed.at), read_at)


def _touched(jobs: Sequence[JobRow], since: datetime) -> list[JobRow]:
    """Leave out what was over long before."""
    return [job for job in jobs if not job.is_over or job.updated_at >= since - _AFTERMATH]


def _path(job: JobRow) -> str:
    return f"jobs/{job.id}"


def _of_job(
    timeline: Iterable[Entry], job: JobRow, commands: dict[str, Document]
) -> Iterator[Deed]:
    """Tell what happened to a job; who ordered something is taken from the command that did."""
    for entry in timeline:
        event = str(entry["event"])
        command = _command_of(commands, job.id, event, entry["at"])
        who = OURSELVES if command is None else _who(command)
        yield Deed(entry["at"], who, str(job.number), event, printable(str(entry["text"])))


def _command_of(
    commands: dict[str, Document], job_id: str, event: str, at: datetime
) -> Document | None:
    """Take out the command that an entry tells of."""
    for path, command in commands.items():
        fields: Mapping[str, Any] = command.fields
        is_it = fields["job"] == job_id and _TOLD_BY.get(fields["kind"]) == event
        if is_it and abs(fields["created_at"] - at) <= _SAME:
            return commands.pop(path)
    return None


def _slices(store: Store, owner: str) -> list[Document]:
    where = (Where("owner", "==", owner), Where("live", "==", value=True))
    return store.query(Query("slices", where, limit=SLICES_MAX))


def _of_slice(timeline: Iterable[Entry], slice_: Document) -> Iterator[Deed]:
    name = str(slice_.fields["name"])
    for entry in timeline:
        text = printable(str(entry["text"]))
        yield Deed(entry["at"], OURSELVES, name, str(entry["event"]), text)


def _timelines(
    store: Store, paths: Sequence[str], since: datetime
) -> Mapping[str, Sequence[Entry]]:
    """Read what happened to jobs and slices, of several at once: each is a query of its own."""
    where = (Where("at", ">=", since),)

    def read(path: str) -> list[Entry]:
        found = store.query(Query(f"{path}/timeline", where, limit=ENTRIES_MAX))
        return [document.fields for document in found]

    with ThreadPoolExecutor(READERS) as readers:
        return dict(zip(paths, readers.map(read, paths), strict=True))


def _commands(
    store: Store, owner: str, since: datetime, job_ids: set[str], *, of_one: bool
) -> dict[str, Document]:
    """Read the orders of a person, those of others about the same jobs, and those for all."""
    where = (Where("created_at", ">=", since),)
    found = store.query(Query("commands", where, "created_at", ENTRIES_MAX))
    kept = {}
    for document in found:
        fields = document.fields
        is_about = fields["job"] in job_ids
        is_mine = fields["owner"] == owner or fields["kind"] in _FOR_ALL
        if is_about or (is_mine and not of_one):
            kept[document.path] = document
    return kept


def _ordered(command: Document, numbers: Mapping[str, int]) -> Deed:
    """Tell of an order that no timeline tells of, refused ones among them."""
    fields: Mapping[str, Any] = command.fields
    kind = str(fields["kind"])
    is_refused = fields["outcome"] != Verdict.ACCEPTED
    text = f"{kind} refused: {fields['reason']}" if is_refused else kind
    number = numbers.get(str(fields["job"])) or fields["number"] or "-"
    return Deed(fields["created_at"], _who(command), str(number), kind, printable(text))


def _who(command: Document) -> str:
    fields = command.fields
    return printable(str(fields.get("owner_email") or fields["owner"]))
