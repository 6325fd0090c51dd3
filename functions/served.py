"""The google wiring on one machine: the six functions as they are deployed, served over HTTP.

Each is a process of functions-framework behind push subscriptions of the Pub/Sub emulator, and
this process stands in for Cloud Scheduler. A function that died is started again, as Cloud Run
would. It holds nothing that must survive: kill it at any moment and start another.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from functions.ticks import Ticks
from sandbox import background, processes
from shared import settings as home_settings
from shared import wiring
from shared.errors import ControlPlaneError
from shared.log import get as get_log
from shared.log import to_stderr
from shared.settings import HOME_VARIABLE, SETTINGS_VARIABLE, Settings
from shared.topology import FUNCTIONS

TICK: Final = "health_check"
SOURCE: Final = Path(__file__).with_name("deployed.py")
START_S: Final = 30.0
STOP_S: Final = 3.0
LOOK_AGAIN_S: Final = 0.05
# Threads of one process stand for the instances that Cloud Run would start.
THREADS: Final = "4"

# Never through a proxy: the functions are on this machine.
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
log = get_log("served")


@dataclass(slots=True)
class Served:
    """One function's process, started again whenever it ends."""

    name: str
    port: int
    environ: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def url(self) -> str:
        """Where it is pushed to."""
        return f"http://{background.LOOPBACK}:{self.port}/"

    def ensure(self) -> None:
        """Start the process unless it is alive."""
        if self.process is not None:
            if self.process.poll() is None:
                return
            log.warning("%s ended with %s: starting it again", self.name, self.process.returncode)
        command = [sys.executable, "-m", "functions_framework", "--target", self.name]
        command += [
            "--source",
            str(SOURCE),
            "--host",
            background.LOOPBACK,
            "--port",
            str(self.port),
        ]
        self.process = subprocess.Popen(
            command,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - this process has one thread
        )

    def is_up(self) -> bool:
        """It takes connections."""
        with socket.socket() as probe:
            return probe.connect_ex((background.LOOPBACK, self.port)) == 0

    def stop(self) -> None:
        """End the process and its workers."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the functions of one home until told to stop."""
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    to_stderr()
    stop = threading.Event()
    ticks = Ticks(stop)
    ticks.listen()

    def end(*_: object) -> None:
        stop.set()
        ticks.poke()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    try:
        settings = home_settings.load({**os.environ, HOME_VARIABLE: str(options.home)})
        run(settings, options.endpoint, stop, ticks)
    except (ControlPlaneError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the last line tells why
        return 1
    return 0


def run(settings: Settings, endpoint: str, stop: threading.Event, ticks: Ticks) -> None:
    """Start the functions, point the subscriptions at them, and tick until ``stop`` is set."""
    ports, environ = background.free_ports(len(FUNCTIONS)), _environ(settings, endpoint)
    functions = [Served(*each, environ) for each in zip(FUNCTIONS, ports, strict=True)]
    try:
        for each in functions:
            each.ensure()
        _wait_until_up(functions)
        wiring.declare(settings, {each.name: each.url for each in functions})
        log.info("six functions are served for %s", settings.home)
        with background.announced(settings.home / "served.json", endpoint=endpoint):
            _tick_until(stop, ticks, functions, settings.policy.tick_s)
    finally:
        for each in functions:
            each.stop()


def _tick_until(
    stop: threading.Event, ticks: Ticks, functions: Sequence[Served], tick_s: float
) -> None:
    """Fire the scheduler's request again and again; one at a time, as Cloud Scheduler does."""
    url = next(each.url for each in functions if each.name == TICK)
    while True:
        ticks.pause(tick_s)
        if stop.is_set():
            return
        ticks.begin()
        for each in functions:
            each.ensure()
        _fire(url)


def _fire(url: str) -> None:
    """Send one tick; the next one is the retry of one that failed."""
    request = urllib.request.Request(url, data=b"", method="POST")
    try:
        with _DIRECT.open(request, timeout=FUNCTIONS[TICK].timeout_s):
            pass
    except (OSError, urllib.error.URLError) as error:
        log.warning("the tick failed: %s", error)


def _wait_until_up(functions: Sequence[Served]) -> None:
    deadline = time.monotonic() + START_S
    pause = threading.Event()
    while missing := [each.name for each in functions if not each.is_up()]:
        if time.monotonic() > deadline:
            raise OSError(f"not served within {START_S:.0f} s: {', '.join(missing)}")
        pause.wait(LOOK_AGAIN_S)


def _environ(settings: Settings, endpoint: str) -> dict[str, str]:
    """Give the functions what Terraform gives them: the settings as JSON."""
    written = tomllib.loads((settings.home / "settings.toml").read_text("utf-8"))
    return {
        **os.environ,
        SETTINGS_VARIABLE: json.dumps(written),
        wiring.CLOUD_VARIABLE: endpoint,
        "THREADS": THREADS,
    }


def _end_with_parent() -> None:
    """Leave no function behind, even when this process is killed (Linux)."""
    processes.signal_on_parent_death(signal.SIGKILL)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="functions.served", description=main.__doc__)
    parser.add_argument("--home", type=Path, required=True, help="the installation's folder")
    parser.add_argument("--endpoint", required=True, help="address of the simulated cloud")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
