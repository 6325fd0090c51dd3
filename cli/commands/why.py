"""`tpuctl why`: why a job is where it is."""

from __future__ import annotations

from dataclasses import asdict

import typer

from cli import tables
from cli.as_json import print_json
from cli.installation import here
from cli.jobs import find_job, warn_without_runner
from cli.words import AS_JSON, JOB


def why(job: JOB, *, as_json: AS_JSON = False) -> None:
    """Say what a job waits for, since when, and what comes next.

    Also what was tried where, what it has spent, and of a job that is over why it ended.
    """
    installation = here()
    row = find_job(installation, job)
    from cli.job_view import read_view
    from cli.why_text import lines_of, why_of
    from cli.why_view import read_why

    answer = why_of(read_why(installation, read_view(installation.store, row)))
    if as_json:
        print_json({"job": row.number, "stage": row.stage, **asdict(answer)})
        return
    for line in lines_of(answer, tables.width()):
        typer.echo(line)
    warn_without_runner(installation, [row])
