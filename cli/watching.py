"""What `watch` looks at again and again, and what has changed since the last look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cli import tables
from cli.errors import CliError
from cli.held import held_for
from cli.installation import PAUSE, Installation
from cli.jobs import JobRow, list_jobs, read_job
from cli.seen import Seen
from cli.tails import Tails
from shared.errors import ControlPlaneError

# Jobs at work are always shown; of the others so many.
NEWEST_MAX = 20


@dataclass(frozen=True, slots=True)
class Look:
    """What there is to see at one moment.  ``remarks`` stand below it."""

    at: datetime
    owner: str
    jobs: Sequence[JobRow]
    outputs: Mapping[str, list[str]]
    held: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def known(self) -> Mapping[str, Mapping[str, str]]:
        """What columns say that documents of jobs do not."""
        last = {id_: lines[-1] for id_, lines in self.outputs.items()}
        return {"output": last, "held": self.held}

    @property
    def headline(self) -> str:
        """Count the jobs."""
        over = sum(job.is_over for job in self.jobs)
        running = sum(job.stage == "running" for job in self.jobs)
        waiting = len(self.jobs) - running - over
        return f"{self.owner}: {running} running, {waiting} on the way, {over} over"

    @property
    def is_over(self) -> bool:
        """Nothing that is shown will change by itself."""
        return all(job.is_over for job in self.jobs)


@dataclass(slots=True)
class Watcher:
    """Looks; an error of one look is told, and the look before it is kept."""

    installation: Installation
    seen: Seen
    named: Sequence[JobRow]
    log_lines: int
    _tails: Tails = field(init=False)
    _jobs: Sequence[JobRow] = ()
    _held: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tails = Tails(self.installation)
        self._jobs = self.named

    def look(self, at: datetime) -> Look:
        """Look once."""
        remarks: list[str] = []
        try:
            self._jobs = self._read()
            self._held = held_for(self.installation, self._jobs)
            remarks.extend(self._remarks())
        except ControlPlaneError as error:
            remarks.append(f"not up to date: {tables.printable(str(error))}; looking again")
        at_work = [job for job in self._jobs if not job.is_over and job.attempt >= 0]
        outputs = self._tails.lines(at_work, self.log_lines)
        return Look(at, self.installation.owner, self._jobs, outputs, self._held, tuple(remarks))

    def _read(self) -> Sequence[JobRow]:
        store = self.installation.store
        if self.named:
            return [read_job(store, job.id) for job in self.named]
        found = list_jobs(store, self.installation.owner, NEWEST_MAX)
        return [job for job in found if not self.seen.hides(job)]

    def _remarks(self) -> Iterator[str]:
        document = self.installation.store.get(PAUSE)
        if document is not None:
            yield tables.printable(str(document.fields["summary"]))
        problem: CliError | None = self.installation.missing_runner()
        is_quiet = bool(self._jobs) and all(job.is_over for job in self._jobs)
        if problem is not None and not is_quiet:
            yield f"{problem}, so nothing will happen; next: {problem.next_step}"


def changes(before: Look | None, now: Look) -> Iterator[str]:
    """Tell in one line each what is new since the last look, for those who keep the lines."""
    told = {job.id: _told(job) for job in before.jobs} if before is not None else {}
    for job in now.jobs:
        line = _told(job)
        if told.get(job.id) != line:
            yield f"{_clock(now)}  {line}"
    outputs = before.outputs if before is not None else {}
    for job in now.jobs:
        lines = now.outputs.get(job.id, [])
        if lines and lines != outputs.get(job.id):
            yield f"{_clock(now)}  job {job.number}  | {lines[-1]}"
    for remark in now.remarks if before is None or before.remarks != now.remarks else ():
        yield f"{_clock(now)}  {remark}"


def _clock(look: Look) -> str:
    return f"{look.at.astimezone():%H:%M:%S}"


def _told(job: JobRow) -> str:
    step = "" if job.step == "-" or job.step in job.summary else f"step {job.step}"
    words = (f"job {job.number} {job.name}", job.stage, step, job.summary)
    return "  ".join(filter(None, words))
