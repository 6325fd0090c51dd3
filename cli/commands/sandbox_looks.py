"""`tpuctl sandbox calls`, `logs` and `forget`: what was asked, what hosts wrote, a clean slate."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import urlencode

import typer

from cli.errors import CliError, NotFoundError
from cli.tables import clock, table, width
from cli.times import moment
from sandbox import control

_LOOK_AGAIN_S: Final = 0.2
_HOST: Final = re.compile(r"(?P<node>.+)-w-(?P<number>\d+)")
_GCLOUD: Final = re.compile(r"google-cloud-sdk gcloud/(\S+) command/gcloud\.(\S+)")
_COLUMNS: Final = ("time", "status", "method", "caller", "path")
_WIDTH_MAX: Final = 80
# What of a fault has a column of its own.
_FAULT_COLUMNS: Final = frozenset({"fault", "target", "count", "until"})


def calls(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="Since: 10m, 2h30m, 14:30 or a date.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Such as GetNode, or 'Create*'.")
    ] = None,
) -> None:
    """Show every call to the TPU API that is remembered: when, who, and how it was answered."""
    from cli.commands.sandbox import home_path, told

    now = datetime.now(UTC)
    begin = moment("--since", since, now).timestamp() if since else 0.0
    query = urlencode({"since": begin, "method": method or "*"})
    with told():
        url = control.require(home_path() / "sandbox").url
        found = control.Client(url).get(f"calls?{query}")
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    rows = found["calls"]
    assert isinstance(rows, list), "the sandbox answers a list"
    for line in _table(rows, now) if rows else [_no_calls(method, since)]:
        typer.echo(line)
    if found["forgotten"]:
        typer.echo(f"{found['forgotten']} calls before these are forgotten", err=True)


def logs(
    node: Annotated[str, typer.Argument(metavar="NODE", help="The node, or one of its hosts.")],
    *,
    host: Annotated[int | None, typer.Option(min=0, help="Only this host.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until it is interrupted.")
    ] = False,
) -> None:
    """Print what the hosts of a node wrote to their consoles; also of one that is gone."""
    from cli.commands.sandbox import home_path

    consoles = _consoles(home_path() / "sandbox" / "hosts", node, host)
    if not consoles:
        which = node if host is None else f"{node}, host {host},"
        raise NotFoundError(
            f"nothing was written by {which} in this sandbox",
            next_step="tpuctl sandbox status shows all nodes and hosts",
        )
    while True:
        for console in consoles:
            for line in console.new_lines():
                prefix = f"[{console.number}] " if len(consoles) > 1 else ""
                typer.echo(prefix + line)
        if not follow:
            return
        time.sleep(_LOOK_AGAIN_S)


def forget() -> None:
    """Throw away all that a sandbox that is down remembers: nodes, requests, hosts' disks."""
    from cli.commands.sandbox import home_path
    from sandbox import keeping

    home = home_path() / "sandbox"
    if info := control.find(home):
        raise CliError(f"the sandbox is up: {info.url}", next_step="tpuctl sandbox down")
    keeping.forget(home)
    typer.echo("forgotten\nnext: tpuctl sandbox up")


def in_force(faults: Any) -> list[str]:
    """Show the faults that have not ended, and what is left of each."""
    if not faults:
        return []
    now = datetime.now(UTC)
    rows = [_fault(fault, now) for fault in faults]
    columns = min(width(), _WIDTH_MAX)
    return table([("in force", "on", "left", "keys"), *rows], columns=columns, elastic=1)


@dataclass(slots=True)
class _Console:
    """What one host wrote, read as far as it is complete."""

    number: int
    path: Path
    read: int = 0

    def new_lines(self) -> Iterator[str]:
        """Return the whole lines that have come."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            file.seek(self.read)
            data = file.read()
            whole = data[: data.rfind(b"\n") + 1]
            self.read += len(whole)
            yield from whole.decode("utf-8", "replace").splitlines()


def _consoles(folder: Path, node: str, host: int | None) -> list[_Console]:
    found = [
        (name, path)
        for path in folder.glob("*/console.log")
        if (name := _HOST.fullmatch(path.parent.name))
        and (name["node"] == node or path.parent.name == node)
    ]
    consoles = [_Console(int(name["number"]), path) for name, path in found]
    wanted = [console for console in consoles if host in {None, console.number}]
    return sorted(wanted, key=lambda console: console.number)


def _table(calls: list[dict[str, Any]], now: datetime) -> list[str]:
    rows = [_row(call, now) for call in calls]
    return table([_COLUMNS, *rows], columns=width(), elastic=4)


def _no_calls(method: str | None, since: str | None) -> str:
    """Repeat what was asked for: it may be misspelled."""
    asked = (("--method", method), ("--since", since))
    said = " ".join(f"{flag} {value}" for flag, value in asked if value)
    return f"no calls with {said}" if said else "no calls"


def _row(call: dict[str, Any], now: datetime) -> tuple[str, ...]:
    at = clock(datetime.fromtimestamp(call["at"], UTC), now)
    return at, str(call["status"]), call["method"], _caller(str(call["caller"])), call["path"]


def _fault(words: dict[str, Any], now: datetime) -> tuple[str, ...]:
    keys = [f"{key}={_said(words[key])}" for key in words if key not in _FAULT_COLUMNS]
    return words["fault"], words.get("target", "-"), _left(words, now), " ".join(keys)


def _said(value: object) -> str:
    """Write a value as it is typed."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _left(words: dict[str, Any], now: datetime) -> str:
    """Say how often a fault still happens, or when it ends by itself."""
    if count := words.get("count"):
        return f"{count} more"
    until = words["until"]
    return f"until {clock(datetime.fromtimestamp(until, UTC), now)}" if until else "-"


def _caller(agent: str) -> str:
    """Name gcloud's command, or the first word of what another client calls itself."""
    gcloud = _GCLOUD.match(agent)
    return gcloud[2].replace(".", " ") if gcloud else agent.partition(" ")[0]
