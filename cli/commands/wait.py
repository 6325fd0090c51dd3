"""`tpuctl wait`: until jobs are over."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import typer

from cli import tables
from cli.completion import job_names
from cli.errors import FAILED, INTERRUPTED, TIMED_OUT, CliError
from cli.installation import Installation, here
from cli.jobs import JobRow, find_job, read_job, warn_without_runner
from cli.times import seconds

_LOOK_AGAIN_S: Final = 0.1


def wait(
    jobs: Annotated[
        list[str],
        typer.Argument(
            metavar="JOB...", help="Number, @last, name or id.", autocompletion=job_names
        ),
    ],
    *,
    timeout: Annotated[
        str | None, typer.Option(metavar="TIME", help="Give up after: 90, 5m, 2h30m.")
    ] = None,
) -> None:
    """Wait until jobs are over.

    Exits with 0 when all succeeded, 1 when one failed or was cancelled, 3 when one does not
    exist, 4 when the time is up.
    """
    installation = here()
    timeout_s = None if timeout is None else seconds("--timeout", timeout)
    found = {job.id: job for job in (find_job(installation, name) for name in jobs)}
    wait_for(installation, list(found.values()), timeout_s)


def wait_for(
    installation: Installation, jobs: Sequence[JobRow], timeout_s: float | None = None
) -> None:
    """Wait until all jobs are over and say how each ended; exit with 1 unless all succeeded."""
    warn_without_runner(installation, jobs)
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    line = _StatusLine()
    try:
        stages = [job.stage for job in _endings(installation, jobs, line, deadline)]
    except _TimeIsUpError as error:
        raise _timed_out(error.waiting, timeout_s) from None
    except KeyboardInterrupt:
        raise _interrupted(installation, jobs) from None
    finally:
        line.clear()
    if any(stage != "succeeded" for stage in stages):
        raise typer.Exit(FAILED)


def _endings(
    installation: Installation,
    jobs: Sequence[JobRow],
    line: _StatusLine,
    deadline: float | None,
) -> Iterator[JobRow]:
    """Tell of each job when it ends, and of those that do not what they do."""
    waiting = list(jobs)
    while waiting:
        waiting = [read_job(installation.store, job.id) for job in waiting]
        for job in [job for job in waiting if job.is_over]:
            line.clear()
            typer.echo(_ending(job))
            waiting.remove(job)
            yield job
        if waiting and deadline is not None and time.monotonic() >= deadline:
            raise _TimeIsUpError(waiting)
        if waiting:
            line.show(" · ".join(_status(job) for job in waiting))
            time.sleep(installation.pause_s(_LOOK_AGAIN_S))


class _TimeIsUpError(Exception):
    """Some jobs are not over yet."""

    def __init__(self, waiting: Sequence[JobRow]) -> None:
        super().__init__()
        self.waiting = waiting


def _ending(job: JobRow) -> str:
    """Tell in one line how a job ended, and where to look if it did not succeed."""
    ended_at = job.fields.get("ended_at")
    after = f" after {tables.age(job.fields['created_at'], ended_at)}" if ended_at else ""
    line = f"job {job.number} {job.name} {job.stage}{after}"
    if job.stage == "succeeded":
        return line
    why = tables.printable(str(job.fields.get("reason") or ""))
    return f"{line}{f': {why}' if why else ''}\nnext: tpuctl why {job.number}"


def _status(job: JobRow) -> str:
    # While it runs the summary says the step too.
    step = "" if job.step == "-" or job.step in job.summary else f"step {job.step}"
    return ", ".join(filter(None, (f"job {job.number} {job.stage}", step, job.summary)))


def _timed_out(waiting: Sequence[JobRow], timeout_s: float | None) -> CliError:
    what = ", ".join(f"job {job.number} is {job.stage}" for job in waiting)
    return CliError(
        f"not over after {timeout_s:g} s: {what}",
        next_step=f"tpuctl why {waiting[0].number}",
        code=TIMED_OUT,
    )


def _interrupted(installation: Installation, jobs: Sequence[JobRow]) -> CliError:
    """Say what goes on, and costs money, although nobody waits for it any more."""
    now = [read_job(installation.store, job.id) for job in jobs]
    numbers = " ".join(str(job.number) for job in now if not job.is_over)
    if not numbers:
        return CliError("interrupted", next_step="tpuctl ps", code=INTERRUPTED)
    return CliError(
        f"interrupted: job {numbers.replace(' ', ', ')} goes on",
        next_step=f"tpuctl wait {numbers}, or tpuctl stop {numbers}",
        code=INTERRUPTED,
    )


class _StatusLine:
    """One line on the terminal that is written over; nothing where nobody watches."""

    def __init__(self) -> None:
        self._shown = ""

    def is_watched(self) -> bool:
        """Tell whether a person is looking."""
        return sys.stderr.isatty()

    def show(self, text: str) -> None:
        """Replace the line, if it says something new."""
        line = tables.cut(text, tables.width() - 1)
        if self.is_watched() and line != self._shown:
            sys.stderr.write(f"\r\x1b[K{line}")
            sys.stderr.flush()
            self._shown = line

    def clear(self) -> None:
        """Take the line away, before something stays."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = ""
