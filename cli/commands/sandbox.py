"""`tpuctl sandbox`: a TPU cloud on this machine.

Everything heavy is in the background process; this file only starts, stops and asks it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from cli.commands import sandbox_env, sandbox_faults, sandbox_looks, sandbox_scenario
from sandbox import control

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="A TPU cloud on this machine, to try things in.",
)

app.command()(sandbox_env.env)
app.command(context_settings=sandbox_faults.KEYS)(sandbox_faults.inject)
app.command()(sandbox_looks.calls)
app.command()(sandbox_looks.logs)
app.command()(sandbox_looks.forget)
app.add_typer(sandbox_scenario.app, name="scenario")
_FAILED, _NOT_FOUND = 1, 3
_SSH_PORT = 22


@app.command()
def up(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 0,
    config: Annotated[Path | None, typer.Option(help="Settings of the cloud, as JSON.")] = None,
    *,
    ssh: Annotated[
        bool, typer.Option("--ssh", help="Let gcloud's ssh and scp in to the hosts.")
    ] = False,
) -> None:
    """Start the sandbox in the background."""
    home = home_path()
    with told():
        if info := control.find(home / "sandbox"):
            if ssh and not info.ssh_port:
                raise control.AlreadyUpError("the sandbox is up already, without --ssh")
            typer.echo(f"the sandbox is up already: {info.url}")
            return
        settings = control.read_settings(config) if config else None
        info = control.start(
            home / "sandbox", port=port, settings=settings, bus=home / "state.db", has_ssh=ssh
        )
    typer.echo(f"sandbox up: {info.url}")
    for line in _ssh_lines(info.ssh_port):
        typer.echo(line)
    typer.echo("next: tpuctl sandbox status")


@app.command()
def down() -> None:
    """Stop the sandbox and everything that runs on its hosts."""
    try:
        info = control.stop(home_path() / "sandbox")
    except control.NotUpError:
        typer.echo("the sandbox is not up")
        return
    typer.echo(f"sandbox down: {info.url}")


@app.command()
def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show the requests, nodes and hosts that exist, and the faults that are in force."""
    with told():
        found = control.status(home_path() / "sandbox")
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(f"sandbox up: {found['url']} (process {found['pid']})")
    for line in _ssh_lines(int(str(found["ssh_port"]))):
        typer.echo(line)
    for line in (*_lines(found), *sandbox_looks.in_force(found["faults"])):
        typer.echo(line)


@app.command()
def preempt(
    node: Annotated[str, typer.Argument(help="The node, as `tpuctl sandbox status` names it.")],
    *,
    silent: Annotated[
        bool, typer.Option("--silent", help="Kill at once, without a notice.")
    ] = False,
    notice_s: Annotated[
        float | None, typer.Option(min=0, help="Seconds from the notice to the kill.")
    ] = None,
    host: Annotated[
        list[int] | None, typer.Option(help="Give the notice to this host only; may be repeated.")
    ] = None,
) -> None:
    """Take a node away, as Google does with spot capacity."""
    if silent and (notice_s is not None or host):
        raise typer.BadParameter("--silent gives no notice: drop --notice-s and --host")
    with told():
        control.preempt(
            home_path() / "sandbox", node, notice=not silent, notice_s=notice_s, hosts=host
        )
    how = "killed" if silent else "has its notice"
    typer.echo(f"node {node} {how}\nnext: tpuctl sandbox status")


def home_path() -> Path:
    """Return the folder of this user's installation."""
    # Absolute: the sandbox works in another folder than its user.
    return Path(os.environ.get("TPUCTL_HOME") or Path.home() / ".tpuctl").absolute()


@contextmanager
def told() -> Iterator[None]:
    """Turn the sandbox's refusals into a line on stderr, the next step, and an exit code."""
    try:
        yield
    except control.ControlError as error:
        step, code = _next_step(error)
        typer.echo(f"error: {error}", err=True)
        typer.echo(f"next: {step}", err=True)
        raise typer.Exit(code) from None


def _next_step(error: control.ControlError) -> tuple[str, int]:
    match error:
        case control.NotUpError():
            return "tpuctl sandbox up", _FAILED
        case control.UnknownNameError():
            return "tpuctl sandbox status shows all nodes and hosts", _NOT_FOUND
        case control.AlreadyUpError():
            return "tpuctl sandbox down, and then again", _FAILED
        case control.StartError():
            return "mend what the line above says, then: tpuctl sandbox up", _FAILED
        case _:
            return "tpuctl sandbox status", _FAILED


def _ssh_lines(port: int) -> Iterator[str]:
    """Say how to log in; gcloud knows no port but its own."""
    if not port:
        return
    flags = "" if port == _SSH_PORT else f' --ssh-flag="-p {port}" (scp: --scp-flag="-P {port}")'
    yield f"ssh: gcloud compute tpus tpu-vm ssh NODE --zone=ZONE{flags}"


def _lines(found: dict[str, object]) -> Iterator[str]:
    """Show each collection as a small table."""
    for title, key, columns in (
        ("queued resource", "queuedResources", ("name", "zone", "state")),
        ("node", "nodes", ("name", "zone", "accelerator_type", "state", "health")),
        ("host", "hosts", ("name", "power", "pid", "ip")),
    ):
        rows = found[key]
        assert isinstance(rows, list), "the sandbox answers lists"
        for row in rows:
            yield "  ".join((f"{title:<16}", *(str(row[column] or "-") for column in columns)))
