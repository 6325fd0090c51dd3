"""The live screen of `watch`: the table of jobs, below each one at work what it wrote last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from cli import tables
from cli.job_table import lines_of
from cli.jobs import JobRow
from cli.watching import Look

_STYLES: Final = {
    "running": "green",
    "succeeded": "bold green",
    "recovering": "bold red",
    "failed": "bold red",
    "cancelled": "dim",
}
_NOTHING_WRONG: Final = frozenset({"running", "succeeded", "cancelled"})
# As much of a sentence as shows that it stands there already.
_TOLD_CHARS: Final = 12
_HINT: Final = "Ctrl-C leaves; everything goes on"
# The headline, the headings, and the line below.
_FRAME_LINES: Final = 4


@contextmanager
def live(columns: Sequence[str]) -> Iterator[Callable[[Look], None]]:
    """Show looks on a screen of their own, which is gone afterwards."""
    console = Console(highlight=False)
    with Live(console=console, screen=True, auto_refresh=False) as screen:
        yield lambda look: screen.update(
            _fitting(look, columns, console.width, console.height), refresh=True
        )


def _fitting(look: Look, columns: Sequence[str], cells: int, height: int) -> Group:
    """Make the screen; what does not fit is counted, jobs at work first."""
    room = max(1, height - _FRAME_LINES - len(look.remarks))
    blocks = list(_blocks(look, columns, cells))
    lines: list[Text] = []
    left = len(look.jobs)
    for block in blocks[1:]:
        if len(lines) + len(block) > room - (left > 1):
            break
        lines.extend(block)
        left -= 1
    more = [Text(f"… and {left} more", style="dim")] if left else []
    remarks = [_line(remark, cells, "yellow") for remark in look.remarks]
    return Group(_headline(look, cells), *blocks[0], *lines, *more, *remarks, _hint(cells))


def _blocks(look: Look, columns: Sequence[str], cells: int) -> Iterator[list[Text]]:
    """Give the headings, then each job's lines."""
    if not look.jobs:
        yield [Text("no jobs; next, elsewhere: tpuctl run --help")]
        return
    heading, *rows = lines_of(look.jobs, columns, cells, look.known)
    yield [_line(heading, cells, "dim")]
    for job, row in zip(look.jobs, rows, strict=True):
        yield [
            _row(job, row, cells),
            *_reason(job, row, cells),
            *_output(look, job, columns, cells),
        ]


def _row(job: JobRow, row: str, cells: int) -> Text:
    line = _line(row, cells, "")
    line.highlight_words([job.stage], style=_STYLES.get(job.stage, "yellow"))
    return line


def _reason(job: JobRow, row: str, cells: int) -> Iterator[Text]:
    """Say what is the matter where the row had no room for it."""
    if job.stage not in _NOTHING_WRONG and job.summary[:_TOLD_CHARS] not in row:
        yield _line(f"    {job.summary}", cells, "yellow")


def _output(look: Look, job: JobRow, columns: Sequence[str], cells: int) -> Iterator[Text]:
    """Show what a program wrote last, unless a column does."""
    if "output" not in columns:
        for line in look.outputs.get(job.id, []):
            yield _line(f"    {line}", cells, "dim")


def _headline(look: Look, cells: int) -> Text:
    return _line(f"{look.at.astimezone():%H:%M:%S}  {look.headline}", cells, "bold")


def _hint(cells: int) -> Text:
    return _line(_HINT, cells, "dim")


def _line(text: str, cells: int, style: str) -> Text:
    return Text(tables.cut(text, cells), style=style, no_wrap=True, overflow="crop")
