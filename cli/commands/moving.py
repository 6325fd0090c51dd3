"""`tpuctl box export`, `tpuctl import`: a running installation moves, and loses no job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import box_checks, box_unit, moving, moving_file
from cli.errors import CliError
from shared import settings as home_settings
from shared import wiring
from shared.app.seal import break_seal, find_seal
from shared.settings import Settings


def import_box(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What tpuctl box export wrote.")],
    *,
    start: Annotated[
        bool, typer.Option("--start", help="Let the functions act: the secret is in its place.")
    ] = False,
    print_secret: Annotated[
        bool, typer.Option("--print-secret", help="Print the key that signs agents' tokens only.")
    ] = False,
) -> None:
    """Take over the jobs of a box that was exported."""
    moved = moving_file.read(file)
    if print_secret:
        typer.echo(moved.header.secret, nl=False)
        return
    settings = home_settings.load()
    moving.check_header(settings, file, moved.header)
    store = wiring.open_store(settings)
    if start:
        moving.begin(store, file, moved)
        typer.echo(
            f"{len(moved.documents)} documents are in force; the next tick goes on with them"
        )
        typer.echo("next: tpuctl ps")
        return
    filled = moving.fill(store, file, moved)
    typer.echo(f"wrote {filled.written} documents, {filled.found} were there already")
    typer.echo("the installation is sealed until its functions have the key of the box:")
    for line in _secret_steps(settings, file):
        typer.echo(f"  {line}")
    typer.echo(f"next: the commands above, then tpuctl import {file} --start")


def export_box(settings: Settings, file: Path) -> None:
    """Seal a box and write its file; say how it goes on."""
    box_checks.check_reports(settings)
    done = moving.export(settings, file.absolute(), box_unit.manager())
    total, told = sum(done.counts.values()), _told(done)
    typer.echo(f"wrote {file}: {total} documents ({told}); it holds a secret, keep it so")
    typer.echo("the box is down and sealed; jobs run on, nobody recovers them until they arrive")
    if done.untold:
        typer.echo(f"{done.untold} alerts could not be sent, nobody will be told", err=True)
    typer.echo("in infra/, before terraform apply:")
    for line in _terraform_steps(done):
        typer.echo(f"  {line}")
    typer.echo("next: tpuctl init --from-terraform infra in a new TPUCTL_HOME,")
    typer.echo(f"      then there: tpuctl import {file}")


def unseal_box(settings: Settings, *, not_imported: bool) -> None:
    """Break the seal of a box that stays after all."""
    store = wiring.open_store(settings)
    seal = find_seal(store)
    if seal is None:
        raise CliError("the box is not sealed", next_step="tpuctl box up")
    if not not_imported:
        raise CliError(
            f"{seal.summary}: if they were imported, two control planes would delete each"
            " other's slices",
            next_step="tpuctl box unseal --not-imported, if they were imported nowhere",
        )
    break_seal(store)
    typer.echo("the box is unsealed; never import a file that it wrote before")
    typer.echo("next: tpuctl box up")


def _told(done: moving.Exported) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(done.counts.items())) or "none"


def _terraform_steps(done: moving.Exported) -> list[str]:
    """Hand over what the box made, in the names of ``infra/``."""
    header = done.header
    topic = f"projects/{header.project}/topics/{header.prefix}-reports"
    return [
        f"echo 'installation = \"{header.installation}\"' >> terraform.tfvars",
        f"terraform import 'google_pubsub_topic.this[\"reports\"]' {topic}",
        f"terraform import google_storage_bucket.data {header.bucket}",
    ]


def _secret_steps(settings: Settings, file: Path) -> list[str]:
    """Give the functions the key; one that runs already reads it when it starts anew."""
    cloud = settings.google
    place = f"--project {cloud.project}"
    region = f" --region {cloud.region}" if cloud.region else ""
    secret = f"gcloud secrets versions add {cloud.prefix}-token --data-file=- {place}"
    anew = [
        f"gcloud run services update {cloud.prefix}-{name} {place}{region}"
        f" --update-labels moved={settings.installation}"
        for name in ("launch", "report")
    ]
    return [f"tpuctl import {file} --print-secret | {secret}", *anew]
