"""Process trees: find all descendants of a process and end them as a power cut would.

Standard library only: the hosts' first process (``machine.py``) stands on it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

# Numbers of prctl(2).
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

IS_LINUX = sys.platform.startswith("linux")
_LOOK_AGAIN_S = 0.002
_PS_S = 30.0


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    is_zombie: bool


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def signal_on_parent_death(number: signal.Signals) -> None:
    """Ask for a signal when the thread that started this process ends (Linux)."""
    _prctl(_PR_SET_PDEATHSIG, number)


def start_time(pid: int) -> str | None:
    """Return a text that tells this process from a later one of the same number, or None."""
    if IS_LINUX:
        try:
            text = Path(f"/proc/{pid}/stat").read_text("utf-8")
        except OSError:
            return None
        fields = text.rpartition(")")[2].split()
        return None if fields[0] == "Z" else fields[19]
    answer = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_PS_S,
    )
    return answer.stdout.strip() or None


def descendants(*roots: int, spare: Collection[int] = ()) -> list[int]:
    """Return all living descendants, parents before children, without the spared branches."""
    return _below(_children(), roots, spare)


def trees(roots: Collection[int]) -> dict[int, list[int]]:
    """Return the living descendants of each of these processes, with one look at the machine."""
    children = _children() if roots else {}
    return {root: _below(children, [root], ()) for root in roots}


def _children() -> Mapping[int, list[_Process]]:
    children: dict[int, list[_Process]] = {}
    for process in _list_processes():
        children.setdefault(process.parent, []).append(process)
    return children


def _below(
    children: Mapping[int, list[_Process]], roots: Iterable[int], spare: Collection[int]
) -> list[int]:
    found: list[int] = []
    queue = list(roots)
    while queue:
        for process in children.get(queue.pop(0), []):
            if process.pid not in spare:
                queue.append(process.pid)
                if not process.is_zombie:
                    found.append(process.pid)
    return found


def freeze_descendants(*roots: int, spare: Collection[int] = ()) -> list[int]:
    """Stop all descendants, parents before children; return which they were.

    What is killed while it is stopped cannot react to the death of another: on a real host
    nobody sees its neighbour die of a power cut.
    """
    stopped: list[int] = []
    while fresh := [pid for pid in descendants(*roots, spare=spare) if pid not in stopped]:
        for pid in fresh:
            _send(pid, signal.SIGSTOP)
        stopped += fresh
    return stopped


def end_descendants(root: int, *, spare: Collection[int] = ()) -> list[int]:
    """Kill all descendants as if at one instant; return which they were."""
    frozen = freeze_descendants(root, spare=spare)
    for pid in frozen:
        _send(pid, signal.SIGKILL)
    while left := descendants(root, spare=spare):
        for pid in left:
            _send(pid, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_S)
    return frozen


def end_strays(mark: str) -> list[int]:
    """Kill all processes with a variable that begins so (Linux); return which they were."""
    strays = [pid for pid in _with_variable(mark) if pid != os.getpid()] if IS_LINUX else []
    for pid in strays:
        _send(pid, signal.SIGKILL)
    while any(start_time(pid) for pid in strays):
        time.sleep(_LOOK_AGAIN_S)
    return strays


def reap() -> None:
    """Collect the exit codes of all children that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def reap_one(pid: int) -> None:
    """Collect the exit code of one process, if it is a child that has ended."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _prctl(option: int, value: int) -> None:
    if IS_LINUX:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _with_variable(mark: str) -> list[int]:
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            # Other users' processes do not let us look.
            with contextlib.suppress(OSError):
                environ = Path(entry.path, "environ").read_bytes().split(b"\0")
                if any(variable.startswith(mark.encode()) for variable in environ):
                    found.append(int(entry.name))
    return found


def _list_processes() -> list[_Process]:
    return _list_by_proc() if IS_LINUX else _list_by_ps()


def _list_by_proc() -> list[_Process]:
    processes = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                text = Path(entry.path, "stat").read_text("utf-8", "replace")
            except OSError:
                continue
            state, parent = text.rpartition(")")[2].split()[:2]
            processes.append(_Process(int(entry.name), int(parent), state in "ZX"))
    return processes


def _list_by_ps() -> list[_Process]:
    answer = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,state="],
        capture_output=True,
        text=True,
        check=True,
        timeout=_PS_S,
    )
    rows = [line.split() for line in answer.stdout.splitlines()]
    return [_Process(int(row[0]), int(row[1]), row[2].startswith("Z")) for row in rows]
