"""`tpuctl show`: everything about one job."""

from __future__ import annotations

import typer

from cli import tables
from cli.as_json import print_json
from cli.installation import here
from cli.jobs import find_job, warn_without_runner
from cli.words import AS_JSON, JOB


def show(job: JOB, *, as_json: AS_JSON = False) -> None:
    """Show a job: attempts, timeline, what to do next."""
    installation = here()
    row = find_job(installation, job)
    from cli.job_text import text_of
    from cli.job_view import read_view

    view = read_view(installation.store, row)
    if as_json:
        print_json(view.stored)
        return
    for line in text_of(view, tables.width()):
        typer.echo(line)
    warn_without_runner(installation, [row])
    installation.warn_if_paused()
