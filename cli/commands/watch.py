"""`tpuctl watch`: the jobs there are, and what becomes of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Annotated, Final

import typer

from cli import tables
from cli.completion import job_names
from cli.installation import Installation, here
from cli.job_table import chosen_columns, lines_of
from cli.jobs import find_job
from cli.seen import read_seen
from cli.times import seconds
from cli.watching import Look, Watcher, changes
from cli.words import COLUMNS

LOOK_AGAIN_S: Final = 1.0
# In Firestore every look is paid for.
PAID_LOOK_S: Final = 5.0
LOG_LINES_MAX: Final = 50


def watch(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JOB...]", help="Only these, until all are over.", autocompletion=job_names
        ),
    ] = None,
    *,
    columns: COLUMNS = None,
    lines: Annotated[
        int,
        typer.Option(
            "--lines", "-n", min=0, max=LOG_LINES_MAX, help="Last lines of each program's output."
        ),
    ] = 1,
    every: Annotated[
        str | None, typer.Option(metavar="TIME", help="How often to look: 2, 1m.")
    ] = None,
) -> None:
    """Watch jobs live; leaving it stops nothing.

    On a terminal it is a screen, elsewhere it prints a line for each change.
    """
    chosen = chosen_columns(columns)
    installation = here()
    named = [find_job(installation, name) for name in jobs or ()]
    seen = read_seen(installation.settings, installation.owner)
    watcher = Watcher(installation, seen, named, max(lines, "output" in chosen))
    pause_s = _pause_s(installation, every)
    with _view(chosen) as show:
        look = _watch(watcher, show, pause_s)
    _leave(look, chosen)


def _pause_s(installation: Installation, every: str | None) -> float:
    if every is not None:
        return max(0.1, seconds("--every", every))
    is_paid = installation.pause_s(0) > 0
    return PAID_LOOK_S if is_paid else LOOK_AGAIN_S


def _watch(watcher: Watcher, show: Callable[[Look], None], pause_s: float) -> Look:
    """Look until the reader leaves, or until all that was asked for is over."""
    look = watcher.look(datetime.now(UTC))
    try:
        while True:
            show(look)
            if watcher.named and look.is_over:
                return look
            _pause(pause_s)
            look = watcher.look(datetime.now(UTC))
    except KeyboardInterrupt:
        return look


def _pause(seconds_: float) -> None:
    time.sleep(seconds_)


def _view(columns: Sequence[str]) -> AbstractContextManager[Callable[[Look], None]]:
    if not _is_screen():
        return _lines()
    from cli.watch_screen import live

    return live(columns)


def _is_screen() -> bool:
    """Tell whether a person looks at a terminal that can be written over."""
    return sys.stdout.isatty() and os.environ.get("TERM") not in {None, "", "dumb"}


@contextmanager
def _lines() -> Iterator[Callable[[Look], None]]:
    """Print what changes, line by line."""
    before: list[Look] = []

    def show(look: Look) -> None:
        for line in changes(before[-1] if before else None, look):
            typer.echo(line)
        if not look.jobs and not before:
            typer.echo(f"no jobs of {look.owner} yet; Ctrl-C leaves")
        sys.stdout.flush()
        before[:] = [look]

    yield show


def _leave(look: Look, columns: Sequence[str]) -> None:
    """Leave the last look on the terminal, and say that it goes on."""
    if _is_screen():
        for line in lines_of(look.jobs, columns, tables.width(), look.known) if look.jobs else ():
            typer.echo(line)
    if not look.is_over:
        typer.echo("everything goes on; next: tpuctl watch, tpuctl ps")
