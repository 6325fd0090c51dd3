"""What the demo plays on: an installation of its own, gone when the demo is over."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from cli import local_runner
from cli.emulated import installation as emulated
from cli.installation import Installation
from sandbox import control
from shared import settings as home_settings

# Seconds that a real cloud counts in minutes; see sandbox/settings.py for what they stand for.
_CLOUD = {"waiting_s": 0.3, "provisioning_s": 0.7, "boot_s": 0.3, "delete_s": 0.5}


@contextmanager
def installation(home: Path | None, *, emulators: bool = False) -> Iterator[Installation]:
    """Bring up a simulated cloud and a control plane; take both down whatever happens.

    Without a ``home`` everything lies in a temporary folder that is removed at the end. With
    ``emulators`` it is the google wiring: six functions over Google's emulators.
    """
    folder = Path(tempfile.mkdtemp(prefix="tpuctl-demo-")) if home is None else home.absolute()
    up, down = (_up_emulated, emulated.down) if emulators else (_up, _down)
    with _terminated_like_interrupted():
        try:
            yield up(folder)
        finally:
            with _undisturbed():
                down(folder)
                if home is None:
                    shutil.rmtree(folder, ignore_errors=True)


def _up(home: Path) -> Installation:
    settings = home_settings.load({"TPUCTL_HOME": str(home), "TPUCTL_OWNER": "demo"})
    cloud = control.start(settings.sandbox_home, settings=_CLOUD, bus=settings.state_path)
    local_runner.start(settings.home, cloud.url)
    return Installation(settings)


def _up_emulated(home: Path) -> Installation:
    return Installation(emulated.up(home, cloud=_CLOUD))


def _down(home: Path) -> None:
    local_runner.stop(home)
    if control.find(home / "sandbox"):
        control.stop(home / "sandbox")


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Clean up after a SIGTERM or a closed terminal as after Ctrl-C."""
    old = {number: signal.signal(number, _interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let an impatient second Ctrl-C not leave processes behind."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's signature
    raise KeyboardInterrupt
