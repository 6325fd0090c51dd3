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
from cli.installation import Installation
from sandbox import control
from shared import settings as home_settings
from shared.settings import Settings

# Seconds that a real cloud counts in minutes; see sandbox/settings.py for what they stand for.
_CLOUD = {"waiting_s": 0.3, "provisioning_s": 0.7, "boot_s": 0.3, "delete_s": 0.5}


@contextmanager
def installation(home: Path | None) -> Iterator[Installation]:
    """Bring up a simulated cloud and a control plane; take both down whatever happens.

    Without a ``home`` everything lies in a temporary folder that is removed at the end.
    """
    folder = Path(tempfile.mkdtemp(prefix="tpuctl-demo-")) if home is None else home
    settings = home_settings.load({"TPUCTL_HOME": str(folder), "TPUCTL_OWNER": "demo"})
    with _terminated_like_interrupted():
        try:
            yield _up(settings)
        finally:
            with _undisturbed():
                _down(settings)
                if home is None:
                    shutil.rmtree(folder, ignore_errors=True)


def _up(settings: Settings) -> Installation:
    cloud = control.start(settings.sandbox_home, settings=_CLOUD, bus=settings.state_path)
    local_runner.start(settings.home, cloud.url)
    return Installation(settings)


def _down(settings: Settings) -> None:
    local_runner.stop(settings.home)
    if control.find(settings.sandbox_home):
        control.stop(settings.sandbox_home)


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
