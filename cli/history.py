"""Everything that was done to a person's jobs and slices, and by whom, in the order of time.

Timelines say what happened, commands who ordered it. What people did and what followed from it by
itself stand in one list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cli.installation import READERS
from cli.jobs import JobRow, list_jobs
from cli.tables import printable
from shared.core.orders import OrderKind, Verdict
from shared.core.slices import Kind
from shared.ports import Document, Query, Store, Where

JOBS_MAX: Final = 200
ENTRIES_MAX: Final = 1000
SLICES_MAX: Final = 200
OURSELVES: Final = "tpuctl"
# What is still told of a job after its last change, such as that its slice is gone.
_AFTERMATH: Final = timedelta(days=1)
# What people type to give an order.
WORDS: Final[Mapping[str, str]] = {
    OrderKind.SUBMIT: "run",
    OrderKind.STOP: "stop",
    OrderKind.RESUME: "resume",
    OrderKind.RERUN: "rerun",
    OrderKind.RELEASE: "slice rm",
    OrderKind.SLICE_CREATE: "slice create",
    OrderKind.SLICE_RECREATE: "slice recreate",
    OrderKind.SLICE_RESTART: "slice restart",
    OrderKind.SLICE_ADOPT: "slice adopt",
    OrderKind.GRANT_ADD: "grant add",
    OrderKind.GRANT_REMOVE: "grant rm",
    OrderKind.PAUSE: "pause",
    OrderKind.UNPAUSE: "unpause",
    OrderKind.SWEEP: "sweep",
    OrderKind.PARKED_RETRY: "parked retry",
}
# The event by which a timeline tells that an order was carried out.
_TOLD_BY: Final[Mapping[str, str]] = {
    OrderKind.SUBMIT: "JobSubmitted",
    OrderKind.STOP: "StopOrdered",
    OrderKind.RESUME: "ResumeOrdered",
    OrderKind.RERUN: "ResumeOrdered",
    OrderKind.RELEASE: "SliceReleased",
    OrderKind.SLICE_CREATE: "SliceOrdered",
    OrderKind.SLICE_RECREATE: "SliceRecreated",
    OrderKind.SLICE_RESTART: "SliceRestarting",
    OrderKind.SLICE_ADOPT: "SliceAdopted",
}
# A command and what it caused are written in one commit, with the times of two clocks.
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


@dataclass(frozen=True, slots=True)
class _Told:
    """One entry of a timeline; ``job`` is the id of the job whose timeline it is, if it is one."""

    job: str
    about: str
    entry: Entry


def read_history(store: Store, owner: str, since: datetime, job: JobRow | None = None) -> History:
    """Read what happened since a time to all jobs of an owner, or to one job."""
    found = [job] if job is not None else list_jobs(store, owner, JOBS_MAX)
    jobs = found if job is not None else _touched(found, since)
    numbers = {each.id: each.number for each in jobs}
    commands = _commands(store, owner, since, set(numbers), of_one=job is not None)
    slices = _slices(store, owner, jobs, since) if job is None else []
    entries = _timelines(store, [*map(_path, jobs), *(each.path for each in slices)], since)
    told = [_Told(each.id, str(each.number), one) for each in jobs for one in entries[_path(each)]]
    told += [_Told("", _name(each), one) for each in slices for one in entries[each.path]]
    read_at = min((each.read_at for each in found), default=None)
    return History(_in_order(told, commands, numbers), read_at)


def _in_order(
    told: Sequence[_Told], commands: Sequence[Document], numbers: Mapping[str, int]
) -> list[Deed]:
    """Put all in the order of time; of one commit, what somebody ordered comes first."""
    orders = _orders(told, commands)
    known = {command.path for command in orders.values()}
    ordered = [_ordered(each, numbers) for each in commands if each.path not in known]
    ordered += [_of_entry(told[index], command) for index, command in orders.items()]
    caused = [_of_entry(each) for index, each in enumerate(told) if index not in orders]
    # Sorting keeps the order of what happened at the same time.
    return sorted([*ordered, *caused], key=lambda deed: deed.at)


def _touched(jobs: Sequence[JobRow], since: datetime) -> list[JobRow]:
    """Leave out what was over long before."""
    return [job for job in jobs if not job.is_over or job.updated_at >= since - _AFTERMATH]


def _path(job: JobRow) -> str:
    return f"jobs/{job.id}"


def _of_entry(told: _Told, command: Document | None = None) -> Deed:
    """Tell what happened; who ordered it is taken from the command that did."""
    who = OURSELVES if command is None else _who(command)
    words = "" if command is None else WORDS.get(str(command.fields["kind"]), "")
    # What a timeline says of a slice does not say what was ordered.
    text = f"{words}: {told.entry['text']}" if words.startswith("slice ") else told.entry["text"]
    at, event = told.entry["at"], str(told.entry["event"])
    return Deed(at, who, told.about, event, printable(str(text)))


def _orders(told: Sequence[_Told], commands: Sequence[Document]) -> Mapping[int, Document]:
    """Find the command that each entry tells of, by the entry's index: the nearest in time."""
    places: dict[tuple[str, str], list[int]] = {}
    for index, each in enumerate(told):
        places.setdefault((each.job, str(each.entry["event"])), []).append(index)
    pairs = [
        (apart, index, command)
        for command in commands
        for index in places.get(_place(command), ())
        if (apart := abs(_at(command) - told[index].entry["at"])) <= _SAME
    ]
    found: dict[int, Document] = {}
    known = set()
    for _, index, command in sorted(pairs, key=lambda pair: pair[0]):
        if index not in found and command.path not in known:
            found[index] = command
            known.add(command.path)
    return found


def _place(command: Document) -> tuple[str, str]:
    """Name the job and the event that tell of a command; none tells of a refused one."""
    fields = command.fields
    if fields["outcome"] != Verdict.ACCEPTED:
        return "", ""
    return str(fields["job"]), _TOLD_BY.get(str(fields["kind"]), "")


def _at(command: Document) -> datetime:
    at = command.fields["created_at"]
    assert isinstance(at, datetime), "every command has its time"
    return at


def _slices(
    store: Store, owner: str, jobs: Sequence[JobRow], since: datetime
) -> Sequence[Document]:
    """Read the slices of an owner, and those that went since: named ones, and those of jobs."""
    gone = Where("live", "==", value=False)
    asked = (
        (Where("live", "==", value=True),),
        (gone, Where("kind", "==", Kind.NAMED.value)),
        (gone, Where("kind", "==", Kind.ADOPTED.value)),
    )
    mine = Where("owner", "==", owner)
    queries = [Query("slices", (mine, *where), limit=SLICES_MAX) for where in asked]
    found = {each.path: each for query in queries for each in store.query(query)}
    uids = {f"slices/{job.fields['slice']}": job.fields["slice_uid"] for job in jobs}
    with ThreadPoolExecutor(READERS) as readers:
        for document in readers.map(store.get, uids.keys() - found.keys()):
            # Another slice may have taken the name.
            if document is not None and document.fields["uid"] == uids[document.path]:
                found[document.path] = document
    return [each for each in found.values() if each.fields["live"] or each.updated_at >= since]


def _name(slice_: Document) -> str:
    return str(slice_.fields["name"])


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
) -> Sequence[Document]:
    """Read the orders of a person, those of others about the same jobs, and those for all."""
    where = (Where("created_at", ">=", since),)
    found = store.query(Query("commands", where, "created_at", ENTRIES_MAX))
    kept = []
    for document in found:
        fields = document.fields
        is_about = fields["job"] in job_ids
        is_mine = fields["owner"] == owner or fields["kind"] in _FOR_ALL
        if is_about or (is_mine and not of_one):
            kept.append(document)
    return kept


def _ordered(command: Document, numbers: Mapping[str, int]) -> Deed:
    """Tell of an order that no timeline tells of, refused ones among them."""
    fields: Mapping[str, Any] = command.fields
    kind = str(fields["kind"])
    words = WORDS.get(kind, kind)
    is_refused = fields["outcome"] != Verdict.ACCEPTED
    text = f"{words} refused: {fields['reason']}" if is_refused else words
    number = numbers.get(str(fields["job"])) or fields["number"]
    about = str(number or fields.get("about") or "-")
    return Deed(_at(command), _who(command), printable(about), kind, printable(text))


def _who(command: Document) -> str:
    fields = command.fields
    return printable(str(fields.get("owner_email") or fields["owner"]))
