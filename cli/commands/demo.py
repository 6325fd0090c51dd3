"""`tpuctl demo`: train through two preemptions on this machine."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.errors import FAILED, CliError
from cli.words import AS_JSON
from sandbox.control import ControlError

if TYPE_CHECKING:
    from cli.demo.told import Told

_NEEDED = ("jax", "orbax", "sklearn")


def demo(
    *,
    as_json: AS_JSON = False,
    home: Annotated[
        Path | None, typer.Option(help="Keep everything in this new folder, to look at it.")
    ] = None,
    emulators: Annotated[
        bool,
        typer.Option("--emulators", help="Over Google's emulators, with the functions served."),
    ] = False,
) -> None:
    """Train through two preemptions on this machine.

    Two jobs train the same network on simulated TPU slices of two hosts each. One is left in
    peace, the other is preempted with notice and then silently. At the end the parameters of
    both are compared, bit for bit.
    """
    _check(home)
    try:
        told = _play(home, as_json=as_json, emulators=emulators)
    except ControlError as error:
        raise CliError(str(error), next_step="tpuctl demo") from None
    if not told.ok:
        raise typer.Exit(FAILED)


def _play(home: Path | None, *, as_json: bool, emulators: bool) -> Told:
    # The screen and Google's libraries take a second to load.
    from rich.console import Console

    from cli.demo import stage, story, view

    console = Console(highlight=False, stderr=as_json, quiet=as_json)
    console.print("starting a simulated cloud and the control plane …", style="dim")
    with stage.installation(home, emulators=emulators) as installation:
        with view.live(console) as show:
            told = story.play(installation, show)
        console.print(view.summary(told))
        if as_json:
            typer.echo(json.dumps(view.as_object(told), indent=2))
    return told


def _check(home: Path | None) -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise CliError(
            f"the demo trains with {', '.join(missing)}, which is not installed",
            next_step="make demo installs what it needs",
        )
    if home is not None and home.exists() and any(home.iterdir()):
        raise CliError(f"--home: {home} is not empty", next_step="name a new folder")
