"""`tpuctl tldr`: the commands of a day on one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import typer

from cli import tables

PAGE: Final[Mapping[str, Mapping[str, str]]] = {
    "run": {
        "a program on a new slice": "tpuctl run --name hi -t v4-16 --code . -- python train.py",
        "as tpuctl.toml says": "tpuctl run",
        "the same with another value": "tpuctl run lr=0.01",
        "on a slice that is there": "tpuctl run SLICE lr=0.01",
        "as a file says, and wait": "tpuctl run -f job.yaml --wait",
    },
    "look": {
        "all my jobs": "tpuctl ps",
        "live": "tpuctl watch",
        "other columns": "tpuctl ps -c job,name,slice,step,output",
        "why is it not running": "tpuctl why JOB",
        "everything about it": "tpuctl show JOB",
        "what it prints, as it comes": "tpuctl logs -f JOB",
        "of one host, lately": "tpuctl logs JOB --host 1 --since 10m",
        "of every attempt": "tpuctl logs JOB --attempt all",
        "what happened since I looked": "tpuctl history",
    },
    "act": {
        "end it, with time to save": "tpuctl stop JOB",
        "end it at once": "tpuctl stop JOB --kill",
        "go on from the checkpoint": "tpuctl resume JOB",
        "with the code as it is now": "tpuctl resume JOB --code .",
        "with another value": "tpuctl resume JOB lr=3e-5",
        "from an earlier step": "tpuctl resume JOB --from-step 4000",
        "which steps are saved": "tpuctl ckpt ls JOB",
        "begin again": "tpuctl rerun JOB",
        "until it is over": "tpuctl wait JOB",
        "put finished ones away": "tpuctl clean",
    },
    "slices": {
        "which there are": "tpuctl slice ls",
        "one of my own": "tpuctl slice create v2-1 --type v4-16 --keep",
        "give one back": "tpuctl slice rm SLICE",
    },
    "try it here": {
        "a cloud on this machine": "tpuctl local up",
        "take a node away": "tpuctl sandbox preempt NODE",
    },
}
_WHAT_CELLS: Final = 30


def tldr() -> None:
    """Show the commands of a day on one page.

    JOB is a number, a name or @last. Every command has --help.
    """
    for line in _lines(tables.width()):
        typer.echo(line)
    typer.echo("JOB: a number, a name or @last. Tab completes: tpuctl --install-completion")


def _lines(cells: int) -> Iterator[str]:
    """Write what beside how, or above it where there is no room."""
    longest = max(len(how) for part in PAGE.values() for how in part.values())
    is_wide = cells >= _WHAT_CELLS + longest + len(tables.GAP)
    for title, part in PAGE.items():
        yield title
        for what, how in part.items():
            if is_wide:
                yield f"{tables.GAP}{what:<{_WHAT_CELLS}}{how}"
            else:
                yield f"{tables.GAP}{what}:"
                yield f"{tables.GAP * 2}{how}"
