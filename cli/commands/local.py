"""`tpuctl local`: the control plane on this machine, a runner in the background."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import local_runner
from cli.as_json import print_json
from cli.errors import FAILED, CliError
from cli.installation import Installation
from cli.words import AS_JSON
from sandbox import control
from shared import settings as home_settings
from shared.settings import Wiring

app = typer.Typer(no_args_is_help=True, help="The control plane on this machine.")


@app.command()
def up(
    *,
    sandbox_config: Annotated[
        Path | None, typer.Option(help="Settings of the simulated cloud, as JSON.")
    ] = None,
) -> None:
    """Start the sandbox and the local runner, where they are not up yet."""
    settings = home_settings.load()
    home = settings.home
    if settings.wiring is not Wiring.EMBEDDED:
        raise CliError(
            f"{home} works on Google Cloud: its wiring is {settings.wiring}",
            next_step="tpuctl box up for a box, or name another folder with TPUCTL_HOME",
        )
    url = _sandbox_up(home, sandbox_config)
    runner = local_runner.find(home)
    if runner is not None and runner.endpoint != url:
        # The cloud it works on is gone; another one took its place.
        local_runner.stop(home)
        runner = None
    if runner is not None:
        typer.echo(f"the local runner is up already: process {runner.pid}")
        return
    runner = local_runner.start(home, url)
    typer.echo(f"local runner up: process {runner.pid}, log {home / local_runner.LOG_NAME}")
    typer.echo("next: tpuctl run --help")


@app.command()
def down(
    *,
    keep_sandbox: Annotated[
        bool, typer.Option("--keep-sandbox", help="Leave the simulated cloud up.")
    ] = False,
) -> None:
    """Stop the local runner, and the sandbox with everything on its hosts."""
    home = home_settings.load().home
    runner = local_runner.stop(home)
    typer.echo(f"local runner down: process {runner.pid}" if runner else "no local runner was up")
    if keep_sandbox:
        return
    if control.find(home / "sandbox"):
        info = control.stop(home / "sandbox")
        typer.echo(f"sandbox down: {info.url}")


@app.command()
def status(*, as_json: AS_JSON = False) -> None:
    """Say what is up; exit with 1 unless the runner and the sandbox are."""
    settings = home_settings.load()
    runner = local_runner.find(settings.home)
    sandbox = control.find(settings.sandbox_home)
    if as_json:
        print_json(
            {
                "home": str(settings.home),
                "owner": settings.owner,
                "runner": {"pid": runner.pid, "endpoint": runner.endpoint} if runner else None,
                "sandbox": {"pid": sandbox.pid, "url": sandbox.url} if sandbox else None,
            }
        )
    else:
        typer.echo(f"home          {settings.home}")
        typer.echo(f"local runner  {f'up, process {runner.pid}' if runner else 'not up'}")
        typer.echo(f"sandbox       {f'up, {sandbox.url}' if sandbox else 'not up'}")
        if runner is not None:
            Installation(settings).warn_if_paused()
    if runner is None or sandbox is None:
        if not as_json:
            typer.echo("next: tpuctl local up")
        raise typer.Exit(FAILED)


def _sandbox_up(home: Path, config: Path | None) -> str:
    """Return the sandbox's address; start it first if it is not up."""
    try:
        if info := control.find(home / "sandbox"):
            return info.url
        settings = control.read_settings(config) if config else None
        info = control.start(home / "sandbox", settings=settings, bus=home / "state.db")
    except control.ControlError as error:
        raise CliError(
            str(error), next_step="mend what the line above says, then: tpuctl local up"
        ) from None
    typer.echo(f"sandbox up: {info.url}")
    return info.url
