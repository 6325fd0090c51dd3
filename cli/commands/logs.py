"""`tpuctl logs`: what a job's program wrote."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Final

import typer

from cli.errors import NotFoundError
from cli.installation import Installation, here, say_aside
from cli.jobs import JobRow, find_job, hosts_of, read_job
from cli.log_reader import LogReader, attempts_with_logs, newest_with_logs
from cli.times import moment
from cli.words import JOB

_LOOK_AGAIN_S: Final = 0.5
# After the end the last chunks may still be on their way.
QUIET_LOOKS: Final = 3
ALL: Final = "all"


@dataclass(frozen=True, slots=True)
class _Wish:
    """What shall be printed; ``attempt`` is None for the newest."""

    attempt: int | None
    all_attempts: bool
    by_host: bool
    tail: int | None
    since: datetime | None


def logs(  # noqa: PLR0913 - one parameter a flag
    job: JOB,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the job is over.")
    ] = False,
    host: Annotated[int | None, typer.Option(min=0, help="Only this host.")] = None,
    by_host: Annotated[
        bool, typer.Option("--by-host", help="One host after the other, not merged.")
    ] = False,
    attempt: Annotated[
        str | None,
        typer.Option(metavar="N|all", help="This attempt, counted from 0; else the newest."),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Shipped since: 10m, 2h30m, 14:30 or a date."),
    ] = None,
    tail: Annotated[
        int | None,
        typer.Option(
            "--tail",
            "-n",
            min=0,
            metavar="N",
            help="Only the last N lines; with --by-host, of each host.",
        ),
    ] = None,
) -> None:
    """Print what a job's program wrote.

    Of all hosts, each line with its host's number where there are several. Logs stay when the
    slice is gone.
    """
    if follow and by_host:
        raise typer.BadParameter("--follow prints as it comes: --by-host does not go with it")
    wish = _wish(attempt, since, tail, by_host=by_host)
    installation = here()
    found = find_job(installation, job)
    hosts = hosts_of(installation, found)
    _check_known(found, wish.attempt, host, hosts)
    reader = LogReader(installation.blobs, found.id, host, found.folder, hosts, wish.since)
    printer = _Printer(found, is_prefixed=host is None and hosts != 1)
    if follow:
        _follow(installation, found, (reader, printer), wish)
    else:
        _print(installation, found, (reader, printer), wish)


def _wish(attempt: str | None, since: str | None, tail: int | None, *, by_host: bool) -> _Wish:
    is_number = attempt is not None and attempt.isascii() and attempt.isdecimal()
    if attempt not in {None, ALL} and not is_number:
        raise typer.BadParameter(f"--attempt: {attempt!r} is neither a number nor {ALL}")
    return _Wish(
        attempt=int(attempt[:20]) if attempt is not None and is_number else None,
        all_attempts=attempt == ALL,
        by_host=by_host,
        tail=tail,
        since=None if since is None else moment("--since", since, datetime.now(UTC)),
    )


def _check_known(job: JobRow, attempt: int | None, host: int | None, hosts: int) -> None:
    """Refuse an attempt or a host that there is not.  Raises NotFoundError."""
    attempts = max(0, job.attempt) + 1
    for what, asked, count in (("attempt", attempt, attempts), ("host", host, hosts)):
        # Where nobody knows how many there are, there may be any.
        if asked is not None and 0 < count <= asked:
            known = "0" if count == 1 else f"0 to {count - 1}"
            raise NotFoundError(
                f"job {job.number} has no {what} {asked}, only {known}",
                next_step=f"tpuctl show {job.number}",
            )


# --- Once ---------------------------------------------------------------------------------------


def _print(
    installation: Installation, job: JobRow, tools: tuple[LogReader, _Printer], wish: _Wish
) -> None:
    """Print what is there; say so when it is nothing."""
    reader, printer = tools
    attempt = 0
    for attempt in _attempts(installation, job, wish):
        printer.begin(attempt)
        if wish.by_host:
            for lines in reader.by_host(attempt, wish.tail):
                printer.print(lines, wish.tail)
        else:
            lines = chain(reader.lines(attempt, wish.tail), reader.rest())
            printer.print(lines, wish.tail)
    if reader.bytes_seen:
        return
    if wish.since is not None:
        say_aside(f"nothing has come since {wish.since:%Y-%m-%d %H:%M:%S} UTC")
        return
    if job.is_over and attempt <= job.attempt and reader.host is None:
        say_aside("nothing: the program wrote no line")
        return
    raise _nothing(job, attempt, reader.host)


def _attempts(installation: Installation, job: JobRow, wish: _Wish) -> list[int]:
    """Return which attempts are wanted."""
    if wish.all_attempts:
        return attempts_with_logs(installation.blobs, job.id, job.folder) or [max(0, job.attempt)]
    return [_chosen(installation, job, wish)]


def _chosen(installation: Installation, job: JobRow, wish: _Wish) -> int:
    if wish.attempt is not None:
        return wish.attempt
    return newest_with_logs(installation.blobs, job.id, job.folder, job.attempt)


# --- As it comes --------------------------------------------------------------------------------


def _follow(
    installation: Installation, job: JobRow, tools: tuple[LogReader, _Printer], wish: _Wish
) -> None:
    """Print what comes, attempt after attempt, until the job is over and all is printed."""
    reader, printer = tools
    current = 0 if wish.all_attempts else _chosen(installation, job, wish)
    printer.begin(current)
    quiet, tail = 0, wish.tail
    while quiet < QUIET_LOOKS:
        job = read_job(installation.store, job.id)
        newest = job.attempt
        count = printer.print(reader.lines(current, tail), tail)
        tail = None
        has_moved_on = wish.attempt is None and newest > current
        if has_moved_on and not count:
            printer.print(reader.rest())
            current += 1
            printer.begin(current)
            continue
        is_done = job.is_over or (wish.attempt is not None and newest > current)
        quiet = quiet + 1 if is_done and not count else 0
        _pause()
    printer.print(reader.rest())
    if job.is_over:
        say_aside(f"job {job.number} {job.stage}; next: tpuctl show {job.number}")


def _pause() -> None:
    time.sleep(_LOOK_AGAIN_S)


@dataclass(frozen=True, slots=True)
class _Printer:
    """Writes lines as they are, bytes included, with the host in front where it matters."""

    job: JobRow
    is_prefixed: bool

    def begin(self, attempt: int) -> None:
        """Say whose lines follow."""
        say_aside(f"job {self.job.number}, attempt {attempt}:")

    def print(self, lines: Iterable[tuple[int, bytes]], tail: int | None = None) -> int:
        """Write lines, or only the last of them; return how many were written."""
        count = 0
        for host, line in lines if tail is None else deque(lines, maxlen=tail):
            prefix = f"[h{host}] ".encode() if self.is_prefixed else b""
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
