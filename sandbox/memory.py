"""How much memory simulated hosts may take of this machine (Linux).

One thread looks at all hosts that have a limit: a look at every process of the machine is what
costs, and one serves them all.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox import processes

MIB: Final = 1 << 20
LOOK_S: Final = 0.25
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class _Bound:
    limit_bytes: int
    console: Path


class MemoryWatch:
    """Ends the largest process of a host whose processes together hold more than it has."""

    def __init__(self) -> None:
        self._bounds: dict[int, _Bound] = {}
        self._has_ended = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, root: int, limit_bytes: int, console: Path) -> None:
        """Watch all descendants of a process; a kill is told on the host's console."""
        if not limit_bytes or not processes.IS_LINUX:
            return
        self._bounds[root] = _Bound(limit_bytes, console)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def remove(self, root: int) -> None:
        """Watch it no more."""
        self._bounds.pop(root, None)

    def close(self) -> None:
        """Stop watching."""
        self._has_ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._has_ended.wait(LOOK_S):
            bounds = dict(self._bounds)
            for root, pids in processes.trees(bounds).items():
                said = end_largest(pids, bounds[root].limit_bytes)
                if said:
                    # The host may be gone by now, and its disk with it.
                    with (
                        suppress(OSError),
                        bounds[root].console.open("a", encoding="utf-8") as file,
                    ):
                        file.write(f"{said}\n")


def end_largest(pids: Collection[int], limit_bytes: int) -> str | None:
    """Kill the largest of these processes if together they are larger than that.

    Return what a kernel's log would say of it, or None.
    """
    # What several share is counted once for each here: quickly read, and never too little.
    if sum(_resident(pid) for pid in pids) <= limit_bytes:
        return None
    held = memory_of(pids)
    total = sum(held.values())
    if total <= limit_bytes:
        return None
    pid = max(held, key=held.__getitem__)
    name = _name_of(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return (
        f"Out of memory: Killed process {pid} ({name}), {held[pid] // MIB} MiB;"
        f" the host had {total // MIB} of {limit_bytes // MIB} MiB in use"
    )


def memory_of(pids: Collection[int]) -> Mapping[int, int]:
    """Return the bytes that processes hold; of what several share, each holds a part."""
    found: dict[int, int] = {}
    for pid in pids:
        # It may be gone by now.
        with suppress(OSError):
            rows = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
            found[pid] = sum(int(row.split()[1]) for row in rows if row.startswith("Pss:")) * 1024
    return found


def _resident(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1]) * _PAGE
    return 0


def _name_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    return "?"
