"""Start, find and stop the local runner's process.  Standard library only: ``ps`` asks too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.errors import CliError
from sandbox import processes

LOG_NAME: Final = "runner.log"
_PROJECT: Final = Path(__file__).resolve().parent.parent
_START_S: Final = 30.0
_STOP_S: Final = 5.0
_LOOK_AGAIN_S: Final = 0.02

# The runners that this process started: it is their parent and has to collect them.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, slots=True)
class RunnerInfo:
    """A runner that is up, and the cloud it works on."""

    pid: int
    started: str
    endpoint: str


def find(home: Path) -> RunnerInfo | None:
    """Return the runner of a home, if its process is alive."""
    for pid in [pid for pid, process in _children.items() if process.poll() is not None]:
        _children.pop(pid)
    try:
        info = RunnerInfo(**json.loads((home / "runner.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return info if processes.start_time(info.pid) == info.started else None


def start(home: Path, endpoint: str) -> RunnerInfo:
    """Start a runner in the background and wait until it serves, or say why it does not."""
    home.mkdir(parents=True, exist_ok=True)
    log_path = home / LOG_NAME
    begins_at = log_path.stat().st_size if log_path.exists() else 0
    process = _spawn(home, endpoint, log_path)
    _children[process.pid] = process
    try:
        return _wait_until_up(home, process, log_path, begins_at)
    except BaseException:
        # Also on Ctrl-C: a start that was given up leaves nothing behind.
        process.terminate()
        process.wait()
        raise


def stop(home: Path) -> RunnerInfo | None:
    """Stop the runner of a home; return which it was, or None when none is up."""
    info = find(home)
    if info is None:
        return None
    os.kill(info.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_S
    while processes.start_time(info.pid) == info.started:
        if time.monotonic() > deadline:
            # It holds nothing that must survive.
            os.kill(info.pid, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_S)
    if process := _children.pop(info.pid, None):
        process.wait()
    (home / "runner.json").unlink(missing_ok=True)
    return info


def _spawn(home: Path, endpoint: str, log_path: Path) -> subprocess.Popen[bytes]:
    """Start the process, out of reach of this terminal's Ctrl-C."""
    with log_path.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "functions.runner", "--home", home, "--endpoint", endpoint],
            cwd=_PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_until_up(
    home: Path, process: subprocess.Popen[bytes], log_path: Path, begins_at: int
) -> RunnerInfo:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        info = find(home)
        if info and info.pid == process.pid:
            return info
        if process.poll() is not None:
            raise CliError(
                f"the local runner could not start: {_last_line(log_path, begins_at)}",
                next_step=f"read {log_path}, then: tpuctl local up",
            )
        time.sleep(_LOOK_AGAIN_S)
    raise CliError(
        f"the local runner was not up within {_START_S:.0f} s", next_step=f"read {log_path}"
    )


def _last_line(log_path: Path, begins_at: int) -> str:
    """Return the line with which the runner gave up."""
    with log_path.open("rb") as log:
        log.seek(begins_at)
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
    return lines[-1].removeprefix("error: ") if lines else "it gave no reason"
