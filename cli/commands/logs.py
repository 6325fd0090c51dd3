"""`tpuctl logs`: what a job's program wrote."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Annotated, Final

import typer

from cli.errors import NotFoundError
from cli.installation import Installation, here, say_aside
from cli.jobs import JobRow, find_job, read_job
from cli.log_reader import LogReader, attempts_with_logs
from cli.words import JOB

_LOOK_AGAIN_S: Final = 0.5
# After the end the last chunks may still be on their way.
QUIET_LOOKS: Final = 3


def logs(
    job: JOB,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the job is over.")
    ] = False,
    host: Annotated[int | None, typer.Option(min=0, help="Only this host.")] = None,
    attempt: Annotated[
        int | None, typer.Option(min=0, help="This attempt, counted from 0; else the newest.")
    ] = None,
) -> None:
    """Print what a job's program wrote.

    Of all hosts, each line with its host's number where there are several.
    """
    installation = here()
    found = find_job(installation, job)
    reader = LogReader(installation.blobs, found.id, host, found.folder)
    if follow:
        _follow(installation, found, reader, attempt)
        return
    chosen = attempt if attempt is not None else _newest(installation, found)
    printer = _Printer(installation, found, host)
    printer.begin(chosen)
    count = printer.print(reader.lines(chosen)) + printer.print(reader.rest())
    if not count and found.is_over and chosen <= found.attempt and host is None:
        say_aside("nothing: the program wrote no line")
    elif not count:
        raise _nothing(found, chosen, host)


def _newest(installation: Installation, job: JobRow) -> int:
    """Return the newest attempt that wrote anything, else the newest."""
    written = attempts_with_logs(installation.blobs, job.id, job.folder)
    return written[-1] if written else max(0, job.attempt)


def _follow(
    installation: Installation, job: JobRow, reader: LogReader, attempt: int | None
) -> None:
    """Print what comes, attempt after attempt, until the job is over and all is printed."""
    printer = _Printer(installation, job, reader.host)
    current = attempt if attempt is not None else _newest(installation, job)
    printer.begin(current)
    quiet = 0
    while quiet < QUIET_LOOKS:
        job = read_job(installation.store, job.id)
        newest = job.attempt
        count = printer.print(reader.lines(current))
        has_moved_on = attempt is None and newest > current
        if has_moved_on and not count:
            printer.print(reader.rest())
            current += 1
            printer.begin(current)
            continue
        is_done = job.is_over or (attempt is not None and newest > current)
        quiet = quiet + 1 if is_done and not count else 0
        _pause()
    printer.print(reader.rest())
    if job.is_over:
        say_aside(f"job {job.number} {job.stage}; next: tpuctl show {job.number}")


def _pause() -> None:
    time.sleep(_LOOK_AGAIN_S)


class _Printer:
    """Writes lines as they are, bytes included, with the host in front where it matters."""

    def __init__(self, installation: Installation, job: JobRow, host: int | None) -> None:
        document = installation.store.get(f"slices/{job.fields['slice']}")
        hosts = document.fields["hosts"] if document else 0
        self._prefixed = host is None and hosts != 1
        self._job = job

    def begin(self, attempt: int) -> None:
        """Say whose lines follow."""
        say_aside(f"job {self._job.number}, attempt {attempt}:")

    def print(self, lines: Iterable[tuple[int, bytes]]) -> int:
        """Write lines; return how many."""
        count = 0
        for host, line in lines:
            prefix = f"[h{host}] ".encode() if self._prefixed else b""
            sys.stdout.buffer.write(prefix + line + b"\n")
            count += 1
        sys.stdout.flush()
        return count


def _nothing(job: JobRow, attempt: int, host: int | None) -> NotFoundError:
    which = f"attempt {attempt} of job {job.number}"
    where = "" if host is None else f" on host {host}"
    return NotFoundError(
        f"{which} has written nothing yet{where}", next_step=f"tpuctl show {job.number}"
    )
