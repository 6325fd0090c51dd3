"""`tpuctl ps`: the jobs there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.installation import here
from cli.jobs import JobRow, list_jobs, warn_without_runner

SHOWN_MAX: Final = 50
ALL_MAX: Final = 10_000
HEADINGS: Final = ("JOB", "NAME", "STAGE", "STEP", "TYPE", "ZONE", "TRY", "LOST", "AGE")
RIGHT: Final = frozenset({0, 3, 6, 7, 8})
NAME: Final = 1
# What a summary needs to be worth its place.
SUMMARY_CELLS: Final = 24


def ps(
    *,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help=f"Not only the newest {SHOWN_MAX} jobs.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List jobs, those at work first.

    TRY counts attempts, LOST the preemptions since the last order of a user.
    """
    installation = here()
    limit = ALL_MAX if everything else SHOWN_MAX
    jobs = list_jobs(installation.store, installation.owner, limit)
    if as_json:
        print_json({"jobs": [_as_json(job) for job in jobs]})
    elif not jobs:
        typer.echo(f"no jobs of {installation.owner}\nnext: tpuctl run --help")
    else:
        for line in _lines(jobs, tables.width()):
            typer.echo(line)
        warn_without_runner(installation, jobs)
    if not as_json:
        installation.warn_if_paused()


def _lines(jobs: Sequence[JobRow], columns: int) -> list[str]:
    """Make the table; what happens now is shown where there is room for more than a word."""
    rows = [HEADINGS, *(_row(job) for job in jobs)]
    plain = tables.table(rows, columns=columns, right=RIGHT, elastic=NAME)
    used = max(map(tables.cells, plain)) + len(tables.GAP)
    if columns - used < SUMMARY_CELLS:
        return plain
    summaries = ["", *(job.summary for job in jobs)]
    pairs = zip(plain, summaries, strict=True)
    return [tables.cut(f"{line:<{used}}{text}".rstrip(), columns) for line, text in pairs]


def _row(job: JobRow) -> tuple[str, ...]:
    fields = job.fields
    spent = fields.get("spent") or {}
    return (
        str(job.number),
        job.name,
        job.stage,
        job.step,
        str(fields.get("accelerator_type") or "-"),
        str(fields.get("zone") or "-"),
        str(job.attempt + 1) if job.attempt >= 0 else "-",
        str(spent.get("preemptions", 0)),
        tables.age(fields["created_at"], job.read_at),
    )


def _as_json(job: JobRow) -> dict[str, Any]:
    """Leave out the spec: it may be long, and ``show --json`` has it."""
    return {key: value for key, value in job.fields.items() if key != "spec"}
