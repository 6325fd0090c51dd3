"""A box: one process on a machine that is always on, under systemd where there is one."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cli import local_runner
from cli.errors import CliError
from shared.settings import Settings, Wiring

if TYPE_CHECKING:
    from cli.box_unit import Systemd
    from shared.ports import Store

UNSEAL: Final = "tpuctl box unseal, if its jobs were imported nowhere"
_UP_S: Final = 60.0
_LOOK_AGAIN_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Started:
    """A box that is up; ``unit`` is the file of its unit, or None without systemd."""

    pid: int
    unit: Path | None
    is_new: bool = True
    ends_at_logout: bool = False


def require_box(settings: Settings) -> Settings:
    """Return settings of a box.  Raises CliError for those of another wiring."""
    if settings.wiring is not Wiring.BOX:
        raise CliError(
            f"{settings.home} is no box: its wiring is {settings.wiring}",
            next_step="tpuctl init --box --project P --bucket B, or name a box with TPUCTL_HOME",
        )
    return settings


def check_unsealed(store: Store) -> None:
    """Refuse to change what has moved elsewhere, or is about to.  Raises CliError."""
    error = sealed_error(store)
    if error is not None:
        raise error


def sealed_error(store: Store) -> CliError | None:
    """Say that an installation is sealed, if it is."""
    from shared.app import seal

    try:
        seal.check_unsealed(store)
    except seal.SealedError as error:
        return CliError(
            f"this installation is {error}",
            next_step=f"use the one that its jobs move to; or {UNSEAL}",
        )
    return None


def start(settings: Settings, systemd: Systemd | None) -> Started:
    """Start the box, under systemd where it is given; return the one that is up already.

    Raises CliError.
    """
    found = local_runner.find(settings.home, local_runner.BOX)
    if found is not None:
        unit = systemd.folder / _unit(settings) if systemd else None
        return Started(found.pid, unit if unit and unit.exists() else None, is_new=False)
    if systemd is None:
        endpoint = os.environ.get("TPUCTL_CLOUD", "")
        return Started(local_runner.start(settings.home, endpoint, local_runner.BOX).pid, None)
    return _start_unit(settings, systemd)


def stop(settings: Settings, systemd: Systemd) -> bool:
    """Stop the box for good, whoever runs it; tell whether it was up.  Raises CliError."""
    was_up = local_runner.find(settings.home, local_runner.BOX) is not None
    if systemd.has(_unit(settings)):
        systemd.remove(_unit(settings))
    local_runner.stop(settings.home, local_runner.BOX)
    return was_up


def _start_unit(settings: Settings, systemd: Systemd) -> Started:
    from cli.box_unit import unit_text

    name = _unit(settings)
    path = systemd.install(name, unit_text(settings.home, systemd, os.environ))
    deadline, pause = time.monotonic() + _UP_S, threading.Event()
    while (found := local_runner.find(settings.home, local_runner.BOX)) is None:
        if time.monotonic() > deadline:
            raise CliError(
                f"the box was not up within {_UP_S:.0f} s; systemd goes on trying",
                next_step=systemd.log_command(name),
            )
        pause.wait(_LOOK_AGAIN_S)
    return Started(found.pid, path, ends_at_logout=systemd.ends_at_logout())


def _unit(settings: Settings) -> str:
    from cli.box_unit import unit_name

    return unit_name(settings.installation)
