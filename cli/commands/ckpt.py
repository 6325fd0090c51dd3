"""`tpuctl ckpt`: the checkpoints of a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.checkpoints import Checkpoint, folder_of, read_checkpoints
from cli.installation import here
from cli.jobs import JobRow, find_job
from cli.words import AS_JSON, JOB

HEADINGS: Final = ("STEP", "SIZE", "COMPLETE", "ATTEMPT", "AGE", "PATH")
RIGHT: Final = frozenset({0, 1, 3, 4})
PATH: Final = 5
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP: Final = 1024

app = typer.Typer(no_args_is_help=True, help="Look at checkpoints.")


@app.callback()
def ckpt() -> None:
    """Look at checkpoints."""


@app.command("ls")
def list_checkpoints(job: JOB, *, as_json: AS_JSON = False) -> None:
    """List the checkpoints of a job's present run, the newest last."""
    installation = here()
    row = find_job(installation, job)
    found = read_checkpoints(installation, row)
    folder = folder_of(installation, row)
    if as_json:
        print_json({"folder": folder, "checkpoints": [asdict(each) for each in found]})
    elif not found:
        typer.echo(f"no checkpoints in {folder}\nnext: tpuctl show {row.number}")
    else:
        rows = [HEADINGS, *(_row(each, row) for each in found)]
        for line in tables.table(rows, columns=tables.width(), right=RIGHT, elastic=PATH):
            typer.echo(line)
        typer.echo(f"next: {_next_step(row, found)}")


def _row(found: Checkpoint, job: JobRow) -> tuple[str, ...]:
    return (
        str(found.step),
        size(found.size),
        "yes" if found.is_complete else "no",
        "-" if found.attempt is None else str(found.attempt),
        tables.age(found.saved_at, job.read_at),
        tables.printable(found.path),
    )


def _next_step(job: JobRow, found: Sequence[Checkpoint]) -> str:
    whole = [each.step for each in found if each.is_complete]
    if not whole or not job.is_over:
        return f"tpuctl show {job.number}"
    return f"tpuctl resume {job.number} --from-step {whole[-1]}"


def size(number: float) -> str:
    """Write a number of bytes in three figures."""
    for unit in _UNITS[:-1]:
        if number < _STEP:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= _STEP
    return f"{number:.1f} {_UNITS[-1]}"
