"""`tpuctl emulators`: Google's Firestore and Pub/Sub emulators on this machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from cli import emulators
from cli.as_json import print_json
from cli.emulator_jars import Kind
from cli.errors import FAILED
from cli.words import AS_JSON
from shared import settings as home_settings

app = typer.Typer(
    no_args_is_help=True, help="Google's Firestore and Pub/Sub emulators on this machine."
)


@app.command()
def up(
    *,
    rules: Annotated[
        Path | None, typer.Option(help="Firestore's security rules, for those without a role.")
    ] = None,
    firestore_port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 0,
    pubsub_port: Annotated[int, typer.Option(help="0 takes a free one.", min=0, max=65535)] = 0,
) -> None:
    """Start the emulators in the background, where they are not up yet."""
    folder = _folder()
    ports = {Kind.FIRESTORE: firestore_port, Kind.PUBSUB: pubsub_port}
    before = emulators.find(folder)
    found = emulators.up(folder, rules=rules, ports=ports)
    for kind, emulator in found.items():
        already = " already" if before.get(kind) == emulator else ""
        typer.echo(f"{kind} emulator up{already}: {emulator.address}")
    typer.echo('next: eval "$(tpuctl emulators env)"')


@app.command()
def down() -> None:
    """Stop the emulators; what they hold is gone then."""
    stopped = emulators.down(_folder())
    for kind, emulator in stopped.items():
        typer.echo(f"{kind} emulator down: {emulator.address}")
    if not stopped:
        typer.echo("no emulator was up")


@app.command()
def env(*, as_json: AS_JSON = False) -> None:
    """Print the variables by which Google's libraries find them, for eval."""
    found = emulators.environment(_folder())
    if as_json:
        print_json(found)
        return
    for name, value in found.items():
        typer.echo(f"export {name}={shlex.quote(value)}")


@app.command()
def status(*, as_json: AS_JSON = False) -> None:
    """Say which are up; exit with 1 unless both are and answer."""
    folder = _folder()
    alive, problems = emulators.find(folder), emulators.problems(folder)
    if as_json:
        print_json({kind: _facts(alive.get(kind), problems.get(kind)) for kind in Kind})
    else:
        for kind in Kind:
            up_at = f"up, {alive[kind].address}, process {alive[kind].pid}" if kind in alive else ""
            typer.echo(f"{kind:<10} {problems.get(kind) or up_at}")
    if not problems:
        return
    if not as_json:
        deaf = alive.keys() & problems.keys()
        typer.echo(f"next: tpuctl emulators {'down, then up' if deaf else 'up'}")
    raise typer.Exit(FAILED)


def _folder() -> Path:
    return home_settings.load().home / "emulators"


def _facts(emulator: emulators.Emulator | None, problem: str | None) -> dict[str, object]:
    return {
        "address": emulator.address if emulator else None,
        "pid": emulator.pid if emulator else None,
        "problem": problem,
    }
