"""What a self test looks at without spending: settings, clock, and whether everything answers."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

from cli.box_checks import ZONE
from cli.errors import CliError, translated
from cli.installation import PAUSE, Installation
from cli.selftest.rest import connect
from shared.errors import ControlPlaneError
from shared.settings import Wiring

# Every name here is one that nobody ever made.
_NAME: Final = "tpuctl-selftest"
CLOCK_S_MAX: Final = 5.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; ``fix`` is what to do about it, "" where it is good."""

    name: str
    found: str
    fix: str = ""


def checks(installation: Installation) -> Iterator[Check]:
    """Look at one thing after the other; nothing is made, nothing is written."""
    settings = installation.settings
    yield Check("versions", f"tpuctl {version('tpuctl')}, Python {platform.python_version()}")
    yield Check("settings", f"{settings.wiring}, installation {settings.installation}")
    looks: dict[str, Callable[[], str]] = {
        "runner": lambda: _runner(installation),
        "documents": lambda: _documents(installation),
        "bucket": lambda: _bucket(installation),
        "Cloud TPU": lambda: _cloud(installation),
        "clock": lambda: _clock(installation),
    }
    for name, look in looks.items():
        yield _looked(name, look)


def project_of(installation: Installation) -> str:
    """Name the project in which the installation asks for TPUs."""
    from shared.wiring import EMBEDDED_PROJECT

    cloud = installation.settings.cloud
    return EMBEDDED_PROJECT if cloud is None else cloud.project


def zone_of(installation: Installation) -> str:
    """Name a zone to ask in where none is given."""
    cloud = installation.settings.cloud
    return cloud.zones[0] if cloud is not None and cloud.zones else ZONE


def _looked(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, look())
    except CliError as error:
        return Check(name, _line(error), error.next_step)
    except ControlPlaneError as error:
        return Check(name, _line(error), translated(error).next_step)


def _runner(installation: Installation) -> str:
    problem = installation.missing_runner()
    if problem is not None:
        raise problem
    if installation.settings.wiring is Wiring.GOOGLE:
        return "functions"
    return "up"


def _documents(installation: Installation) -> str:
    return "readable" if installation.store.get(PAUSE) is None else "readable; creation is paused"


def _bucket(installation: Installation) -> str:
    installation.blobs.get(f"{_NAME}/none")
    return "readable"


def _cloud(installation: Installation) -> str:
    zone = zone_of(installation)
    installation.slices.get(zone, _NAME)
    return f"answers in {zone}"


def _clock(installation: Installation) -> str:
    """Compare this machine's clock with the cloud's."""
    rest = connect(project_of(installation), installation.endpoint)
    ahead_s = rest.get(f"{rest.location(zone_of(installation))}/nodes/{_NAME}").ahead_s
    if ahead_s is None:
        return "the cloud tells no time"
    if abs(ahead_s) > CLOCK_S_MAX:
        raise CliError(f"{ahead_s:+.0f} s from the cloud's", next_step="set this machine's clock")
    return f"within {CLOCK_S_MAX:g} s of the cloud's"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
