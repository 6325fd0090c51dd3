"""`tpuctl clean`: put finished jobs away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from cli import tables
from cli.completion import job_names
from cli.errors import FAILED, CliError
from cli.installation import Installation, here
from cli.jobs import JobRow, find_job, list_jobs
from cli.seen import CLEANED_MAX, Seen, read_seen

NAMED_MAX: Final = 10


def clean(
    jobs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[JOB...]",
            help="Only these; by default all that ended well.",
            autocompletion=job_names,
        ),
    ] = None,
    *,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Failed ones too: they wait for a decision.")
    ] = False,
) -> None:
    """Put finished jobs away: ps leaves them out.

    Nothing is deleted: documents, logs, outputs and checkpoints stay, `tpuctl ps --all` lists
    them, and a job that is resumed is back. What is put away is this machine's to know.
    """
    if jobs and everything:
        raise typer.BadParameter("--all is all of them: name no job, or leave --all out")
    installation = here()
    seen = read_seen(installation.settings, installation.owner)
    found = _named(installation, jobs) if jobs else _finished(installation, seen, everything)
    seen.clean(found).save()
    typer.echo(_told(found))
    typer.echo("next: tpuctl ps, tpuctl ps --all")


def _named(installation: Installation, names: Sequence[str]) -> list[JobRow]:
    """Find jobs, none of which may be at work."""
    found = [find_job(installation, name) for name in names]
    for job in found:
        if not job.is_over:
            raise CliError(
                f"job {job.number} is {job.stage}, not over",
                next_step=f"tpuctl stop {job.number}, then tpuctl clean {job.number}",
                code=FAILED,
            )
    return found


def _finished(installation: Installation, seen: Seen, everything: bool) -> list[JobRow]:  # noqa: FBT001 - the flag
    stages = {"succeeded", "cancelled", *(["failed"] if everything else [])}
    jobs = list_jobs(installation.store, installation.owner, CLEANED_MAX)
    return [job for job in jobs if job.stage in stages and not seen.hides(job)]


def _told(jobs: Sequence[JobRow]) -> str:
    if not jobs:
        return "nothing to put away"
    shown = ", ".join(f"{job.number} {tables.printable(job.name)}" for job in jobs[:NAMED_MAX])
    more = f" and {len(jobs) - NAMED_MAX} more" if len(jobs) > NAMED_MAX else ""
    return f"put away {len(jobs)}: {shown}{more}; nothing was deleted"
