"""Background processes: start one, wait until it is up, find it by its note, stop it.

A note is a JSON file with at least the process's number and start time: a later process of the
same number is another one. Standard library only: the CLI starts fast.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from sandbox import processes

LOOPBACK = "127.0.0.1"
_PORTS = range(20_000, 32_000)
_PORT_TRIES = 50
_LOOK_AGAIN_S = 0.02
_CANCEL_S = 5.0

# The processes that this one started: it is their parent and has to collect them.
_children: dict[int, subprocess.Popen[bytes]] = {}


class Noted(Protocol):
    """What a note tells about a process."""

    @property
    def pid(self) -> int:
        """Its number."""

    @property
    def started(self) -> str:
        """Its start time, as ``processes.start_time`` tells it."""


T = TypeVar("T")
N = TypeVar("N", bound=Noted)


class NotStartedError(Exception):
    """Why a process did not come up: ``could not start: …`` or ``was not up within …``."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A process on its way up. Its log may hold what earlier ones wrote."""

    process: subprocess.Popen[bytes]
    log_path: Path
    log_begins_at: int

    @property
    def log(self) -> str:
        """What this process has written so far."""
        with self.log_path.open("rb") as log:
            log.seek(self.log_begins_at)
            return log.read().decode("utf-8", "replace")


def spawn(command: Sequence[str | Path], log_path: Path, *, cwd: Path | None = None) -> Launch:
    """Start a process, out of reach of this terminal's Ctrl-C."""
    begins_at = log_path.stat().st_size if log_path.exists() else 0
    with log_path.open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[process.pid] = process
    return Launch(process, log_path, begins_at)


def wait_until_up(launch: Launch, look: Callable[[], T | None], within_s: float) -> T:
    """Return what ``look`` finds.  Raises NotStartedError; then nothing is left behind."""
    try:
        return _found(launch, look, within_s)
    except BaseException:
        # Also on Ctrl-C: a start that was given up leaves nothing behind.
        cancel(launch)
        raise


def cancel(launch: Launch) -> None:
    """End a process that is on its way up."""
    launch.process.terminate()
    try:
        launch.process.wait(_CANCEL_S)
    except subprocess.TimeoutExpired:
        launch.process.kill()
    _collect(launch.process.pid)


def find(note: Path, kind: Callable[..., N]) -> N | None:
    """Return what a note tells, if its process is alive."""
    # A copy: others may be started on other threads meanwhile.
    for pid in [pid for pid, process in list(_children.items()) if process.poll() is not None]:
        _collect(pid)
    info = read(note, kind)
    return info if info and processes.start_time(info.pid) == info.started else None


def read(note: Path, kind: Callable[..., N]) -> N | None:
    """Return what a note tells, alive or not; None when there is none that can be read."""
    try:
        return kind(**json.loads(note.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def stop(info: Noted, patience_s: float) -> None:
    """End a process; after ``patience_s`` kill it."""
    _send(info.pid, signal.SIGTERM)
    deadline = time.monotonic() + patience_s
    while processes.start_time(info.pid) == info.started:
        if time.monotonic() > deadline:
            _send(info.pid, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_S)
    _collect(info.pid)


@contextlib.contextmanager
def announced(note: Path, **fields: object) -> Iterator[None]:
    """Leave a note of this process for the time of a block, complete or not at all."""
    pid, draft = os.getpid(), note.with_suffix(".new")
    told = {"pid": pid, "started": processes.start_time(pid), **fields}
    draft.write_text(json.dumps(told), encoding="utf-8")
    draft.replace(note)
    try:
        yield
    finally:
        note.unlink(missing_ok=True)


def last_line(log: str) -> str:
    """Return the line with which a process gave up; the lines of a stack are indented."""
    lines = [line for line in log.splitlines() if line and not line[0].isspace()]
    return lines[-1].removeprefix("error: ") if lines else "it gave no reason"


def free_ports(count: int = 1) -> list[int]:
    """Return different ports of this machine that nobody listens on.  Raises OSError.

    They lie below the range from which systems take ports for outgoing connections: found free,
    they stay so.
    """
    free = [port for port in random.sample(_PORTS, _PORT_TRIES) if is_free(port)]
    if len(free) < count:
        raise OSError("no free port on this machine")
    return free[:count]


def is_free(port: int) -> bool:
    """Tell whether one may listen on a port of the loopback address."""
    with socket.socket() as probe:
        # What was closed a moment ago may be taken again; Java and gunicorn do the same.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def _found(launch: Launch, look: Callable[[], T | None], within_s: float) -> T:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if found := look():
            return found
        if launch.process.poll() is not None:
            raise NotStartedError(f"could not start: {last_line(launch.log)}")
        time.sleep(_LOOK_AGAIN_S)
    raise NotStartedError(f"was not up within {within_s:.0f} s")


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _collect(pid: int) -> None:
    if process := _children.pop(pid, None):
        process.wait()
