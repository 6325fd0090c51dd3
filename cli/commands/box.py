"""`tpuctl box`: the control plane on a machine that is always on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from cli import box, box_checks, box_unit, local_runner
from cli.as_json import print_json
from cli.errors import FAILED
from cli.installation import Installation, say_aside
from cli.words import AS_JSON
from shared import settings as home_settings
from shared import wiring
from shared.settings import Settings

app = typer.Typer(no_args_is_help=True, help="The control plane on a machine that is always on.")


@app.command()
def up(
    *,
    no_systemd: Annotated[
        bool, typer.Option("--no-systemd", help="Start a plain process, even if there is systemd.")
    ] = False,
) -> None:
    """Start the box where it is not up yet, under systemd where that runs."""
    settings = _here()
    box.check_unsealed(wiring.open_store(settings))
    finding = box_checks.check_reports(settings)
    if finding.may_pass:
        say_aside(f"{finding.text}: the box goes on asking")
    systemd = box_unit.manager()
    started = box.start(settings, systemd if not no_systemd and systemd.is_running() else None)
    typer.echo(f"the box is up{'' if started.is_new else ' already'}: process {started.pid}")
    if started.unit is not None:
        typer.echo(f"systemd restarts it, also after a reboot: {started.unit}")
    else:
        typer.echo("nothing restarts it after a reboot: run tpuctl box up again then")
    if started.ends_at_logout:
        typer.echo("it ends when you log out, unless: loginctl enable-linger")
    if started.is_new:
        typer.echo("next: tpuctl run --help")


@app.command()
def down() -> None:
    """Stop the box; jobs run on, and nobody recovers them until it is up again."""
    settings = _here()
    was_up = box.stop(settings, box_unit.manager())
    typer.echo("the box is down; its jobs run on" if was_up else "the box was not up")


@app.command()
def run() -> None:
    """Run the box in the foreground, as its unit does."""
    settings = _here()
    words = [sys.executable, "-m", local_runner.BOX.module, "--home", str(settings.home)]
    words += ["--endpoint", os.environ.get(wiring.CLOUD_VARIABLE, "")]
    # In the place of this process: systemd shall watch the box itself.
    os.execv(sys.executable, words)  # noqa: S606 - no shell is what is wanted


@app.command()
def unit() -> None:
    """Print the systemd unit that `tpuctl box up` would write."""
    settings = _here()
    typer.echo(box_unit.unit_text(settings.home, box_unit.manager(), os.environ), nl=False)


@app.command()
def status(*, as_json: AS_JSON = False) -> None:
    """Say what is up; exit with 1 unless the box is, unsealed."""
    from shared.app.seal import find_seal

    settings = _here()
    runner = local_runner.find(settings.home, local_runner.BOX)
    seal = find_seal(wiring.open_store(settings))
    cloud = settings.google
    if as_json:
        print_json(
            {
                "home": str(settings.home),
                "installation": settings.installation,
                "project": cloud.project,
                "bucket": cloud.bucket,
                "runner": {"pid": runner.pid, "endpoint": runner.endpoint} if runner else None,
                "sealed": {"at": seal.at, "summary": seal.summary} if seal else None,
            }
        )
    else:
        typer.echo(f"home     {settings.home}")
        typer.echo(f"project  {cloud.project}, bucket {cloud.bucket}")
        typer.echo(f"box      {f'up, process {runner.pid}' if runner else 'not up'}")
        Installation(settings).warn_if_paused()
        if seal:
            typer.echo(f"sealed   since {seal.at:%Y-%m-%d %H:%M} UTC: {seal.summary}")
        elif runner is None:
            typer.echo("next: tpuctl box up")
    if runner is None or seal:
        raise typer.Exit(FAILED)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that is not there yet.")],
) -> None:
    """Stop and seal the box, and write all it knows to a file that can be imported."""
    from cli.commands.moving import export_box

    export_box(_here(), file)


@app.command()
def unseal(
    *,
    not_imported: Annotated[
        bool,
        typer.Option("--not-imported", help="Say that no other installation has its jobs."),
    ] = False,
) -> None:
    """Let a sealed box work again, if its jobs were imported nowhere."""
    from cli.commands.moving import unseal_box

    unseal_box(_here(), not_imported=not_imported)


def _here() -> Settings:
    return box.require_box(home_settings.load())
