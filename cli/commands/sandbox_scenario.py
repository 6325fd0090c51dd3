"""`tpuctl sandbox scenario`: capacity, luck and faults over time, from a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from cli.as_json import print_json
from cli.errors import USAGE, CliError
from cli.words import AS_JSON
from sandbox import control

if TYPE_CHECKING:
    from sandbox.scenario import Scenario

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Capacity, luck and faults over time, from a file.",
)

FILE: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The scenario, as YAML.")]


@app.command()
def play(
    file: FILE,
    *,
    seed: Annotated[int | None, typer.Option(help="Other luck than the file's.")] = None,
    speed: Annotated[
        float | None, typer.Option(min=0.001, help="How much faster than a clock.")
    ] = None,
) -> None:
    """Begin a scenario in the sandbox that is up."""
    scenario, fields = _read(file)
    given = {"seed": seed, "speed": speed}
    words = {**fields, **{key: value for key, value in given.items() if value is not None}}
    with _asked() as cloud:
        found = cloud.post("scenario", words)["scenario"]
    assert isinstance(found, dict), "a scenario that was begun is on"
    typer.echo(f"on: {_told(scenario, found['speed'])}, seed {found['seed']}")
    typer.echo("next: tpuctl sandbox scenario status")


@app.command()
def check(file: FILE) -> None:
    """Say whether a scenario can be played, and what is in it; nothing needs to be up."""
    scenario, _ = _read(file)
    typer.echo(f"good: {_told(scenario, scenario.speed)}, seed {scenario.seed}")
    typer.echo(f"next: tpuctl sandbox scenario play {file}")


@app.command()
def status(*, as_json: AS_JSON = False) -> None:
    """Show what of the scenario has happened, and what is to come."""
    with _asked() as cloud:
        found = cloud.get("scenario")["scenario"]
    if as_json:
        print_json(found)
        return
    if not isinstance(found, dict):
        typer.echo("no scenario is on\nnext: tpuctl sandbox scenario play FILE")
        return
    typer.echo(f"{found['title'] or 'a scenario'}: seed {found['seed']}, speed {found['speed']:g}")
    for moment in found["done"]:
        typer.echo(f"done   {_line(moment)}")
    for moment in found["ahead"]:
        typer.echo(f"ahead  {_line(moment)}")


@app.command()
def stop() -> None:
    """End the scenario: nothing more of it happens, and the settings are as before it."""
    with _asked() as cloud:
        cloud.delete("scenario")
    typer.echo("stopped\nnext: tpuctl sandbox status")


def _read(file: Path) -> tuple[Scenario, dict[str, object]]:
    # Pydantic and YAML take a moment: not for `--help`.
    from sandbox import scenario_file
    from sandbox.errors import SettingsError

    try:
        scenario, found = scenario_file.load(file)
    except SettingsError as error:
        raise CliError(
            str(error), next_step="correct it; docs/sandbox-faults.md names every key", code=USAGE
        ) from None
    return scenario, dict(found.fields)


@contextmanager
def _asked() -> Iterator[control.Client]:
    from cli.commands.sandbox import home_path, told

    with told():
        yield control.Client(control.require(home_path() / "sandbox").url)


def _told(scenario: Scenario, speed: float) -> str:
    moments = scenario.moments()
    title = f"{scenario.title}: " if scenario.title else ""
    if not moments:
        return f"{title}nothing happens at a set time, speed {speed:g}"
    last = moments[-1].at_s
    count = "1 thing happens" if len(moments) == 1 else f"{len(moments)} things happen"
    return (
        f"{title}{count}, the last after {last:g} s of the cloud, "
        f"which are {last / speed:.1f} s at speed {speed:g}"
    )


def _line(moment: dict[str, Any]) -> str:
    """Say one thing that happens; what it hit, once it has happened."""
    at = f"{moment['at_s']:>8g} s"
    if moment["capacity"] is not None:
        stock = ", ".join(f"{shop}: {nodes}" for shop, nodes in moment["capacity"].items())
        return f"{at}  capacity      {stock or 'unlimited'}"
    hit = ", ".join(each.rpartition("/nodes/")[2] for each in moment.get("hit", ()))
    keys = " ".join(f"{key}={value}" for key, value in moment["fault"].items() if key != "fault")
    return f"{at}  {moment['fault']['fault']:<12}  {moment.get('trouble') or hit or keys}".rstrip()
