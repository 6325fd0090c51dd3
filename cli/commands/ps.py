"""`tpuctl ps`: the jobs there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.held import held_for
from cli.installation import Installation, here
from cli.job_table import Known, chosen_columns, lines_of
from cli.jobs import JobRow, list_jobs, warn_without_runner
from cli.seen import read_seen
from cli.words import COLUMNS

SHOWN_MAX: Final = 50
ALL_MAX: Final = 10_000
# How far behind cleaned jobs is looked for others.
BEHIND_MAX: Final = 150


def ps(
    *,
    everything: Annotated[
        bool,
        typer.Option("--all", "-a", help=f"Not only the newest {SHOWN_MAX}; cleaned ones too."),
    ] = False,
    columns: COLUMNS = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List jobs, those at work first.

    TRY counts attempts, LOST the preemptions since the last order of a user. Where the terminal
    is too narrow, columns are left out.
    """
    chosen = chosen_columns(columns)
    installation = here()
    seen = read_seen(installation.settings, installation.owner)
    limit = ALL_MAX if everything else SHOWN_MAX + min(len(seen.cleaned), BEHIND_MAX)
    found = list_jobs(installation.store, installation.owner, limit)
    jobs = found if everything else _newest([job for job in found if not seen.hides(job)])
    if as_json:
        print_json({"jobs": [_as_json(job) for job in jobs]})
        return
    if jobs:
        for line in lines_of(jobs, chosen, tables.width(), _known(installation, jobs, chosen)):
            typer.echo(line)
        warn_without_runner(installation, jobs)
    elif found:
        typer.echo("no jobs but cleaned ones\nnext: tpuctl ps --all, tpuctl run --help")
    else:
        typer.echo(f"no jobs of {installation.owner}\nnext: tpuctl run --help")
    installation.warn_if_paused()


def _known(installation: Installation, jobs: list[JobRow], columns: Sequence[str]) -> Known:
    """Look up what documents of jobs do not say, as far as it is to be shown."""
    known = {"held": held_for(installation, jobs)} if "held" in columns else {}
    if "output" in columns:
        from cli.tails import Tails

        known["output"] = Tails(installation).read(jobs)
    return known


def _newest(jobs: list[JobRow]) -> list[JobRow]:
    """Keep those at work, which come first, and the newest of the others."""
    return jobs[: max(SHOWN_MAX, sum(not job.is_over for job in jobs))]


def _as_json(job: JobRow) -> dict[str, Any]:
    """Leave out the spec: it may be long, and ``show --json`` has it."""
    return {key: value for key, value in job.fields.items() if key != "spec"}
