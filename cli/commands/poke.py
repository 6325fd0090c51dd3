"""`tpuctl poke`: the tick, now."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

import typer

from cli import local_runner, tables
from cli.errors import TIMED_OUT, CliError
from cli.installation import Installation, for_orders
from shared import wiring
from shared.errors import ControlPlaneError, InvalidRequest
from shared.settings import Settings, Wiring

TICK: Final = "control/tick"
# A function that is cold takes seconds; a tick that is under way ends first.
WAIT_S: Final = 90.0
_LOOK_AGAIN_S: Final = 0.1


def poke(
    *,
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when the checks have begun.")
    ] = False,
) -> None:
    """Wake the checks now instead of at the next minute."""
    installation = for_orders()
    bell = bell_of(installation.settings)
    before = _last_tick(installation)
    bell.ring()
    typer.echo(f"woke {bell.name}; {_told(before)}")
    if wait:
        began = _next_tick(installation, bell, before)
        typer.echo(f"a tick began at {tables.clock(began.at, began.read_at)}")
    typer.echo("next: tpuctl ps")


@dataclass(frozen=True, slots=True)
class Bell:
    """What is woken, by what people call it; ``complain`` tells what it has to say for itself."""

    name: str
    ring: Callable[[], None]
    look: str
    complain: Callable[[], str] = lambda: ""


@dataclass(frozen=True, slots=True)
class _Tick:
    """When the last tick began, and when that was read: both by the Store's clock."""

    at: datetime
    read_at: datetime


def bell_of(settings: Settings) -> Bell:
    """Find what begins ticks in this installation.  Raises CliError when it is not up."""
    if settings.wiring is not Wiring.GOOGLE:
        is_box = settings.wiring is Wiring.BOX
        return _process_bell(settings, local_runner.BOX if is_box else local_runner.RUNNER)
    found = wiring.Endpoints.named_in(os.environ)
    if found.firestore or found.pubsub:
        names = "FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST"
        return _process_bell(
            settings, local_runner.SERVED, next_step=f"unset {names} to wake what is deployed"
        )
    return _scheduler_bell(settings)


def _process_bell(
    settings: Settings, program: local_runner.Program, *, next_step: str = ""
) -> Bell:
    info = local_runner.find(settings.home, program)
    if info is None:
        raise CliError(
            f"{program.label} is not up in {settings.home}", next_step=next_step or program.up
        )
    return Bell(
        f"{program.label}, process {info.pid}",
        lambda: local_runner.poke(info),
        f"read {settings.home / program.log_name}",
    )


def _scheduler_bell(settings: Settings) -> Bell:
    """Ring at Cloud Scheduler's, whose own account of it tells why no tick came."""
    ticker = wiring.open_ticker(settings)
    cloud = settings.google

    def ring() -> None:
        try:
            ticker.fire()
        except InvalidRequest as error:
            step = "tpuctl init --from-terraform infra writes which region was deployed"
            raise CliError(str(error), next_step=step) from None

    def complain() -> str:
        # People may fire the job without a right to look at it.
        with contextlib.suppress(ControlPlaneError):
            attempt = ticker.last_attempt()
            if attempt is not None and attempt.problem:
                return f"; Cloud Scheduler's last call of it ended with {attempt.problem}"
        return ""

    name = f"{cloud.prefix}-tick of Cloud Scheduler in {cloud.region}"
    return Bell(name, ring, "the logs of health_check say more: docs/deploy.md", complain)


def _last_tick(installation: Installation) -> _Tick | None:
    document = installation.store.get(TICK)
    at = document.fields.get("at") if document else None
    return _Tick(at, document.read_at) if document and isinstance(at, datetime) else None


def _told(tick: _Tick | None) -> str:
    """Say how long ago it was."""
    if tick is None:
        return "no tick has begun yet"
    return f"the last tick began {tables.age(tick.at, tick.read_at)} ago"


def _next_tick(installation: Installation, bell: Bell, before: _Tick | None) -> _Tick:
    """Wait until another tick than that one began.  Raises CliError when the time is up."""
    deadline, pause = time.monotonic() + WAIT_S, threading.Event()
    # Its own time tells it apart: a tick that is cut short writes the document twice.
    while (found := _last_tick(installation)) is None or (before and found.at == before.at):
        if time.monotonic() >= deadline:
            raise CliError(
                f"no tick began within {WAIT_S:g} s; {_told(found)}{bell.complain()}",
                next_step=bell.look,
                code=TIMED_OUT,
            )
        pause.wait(_LOOK_AGAIN_S)
    return found
