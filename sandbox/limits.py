"""What one simulated host may take of this machine: some of its cores, and so much memory.

Standard library only: the hosts' first process (``machine.py``) stands on it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from sandbox import processes

MIB = 1 << 20


def keep_to_cores(count: int, seat: int) -> None:
    """Keep this process and all that it starts to ``count`` cores, neighbours to others (Linux).

    Libraries that ask how many cores they may use start as many threads, and no more.
    """
    if not count or not hasattr(os, "sched_setaffinity"):
        return
    ours = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {ours[(seat * count + each) % len(ours)] for each in range(count)})


def end_largest(root: int, limit_bytes: int) -> str | None:
    """Kill the largest descendant if all together are larger than that, as a kernel would (Linux).

    Return what a kernel's log would say of it, or None.
    """
    used = memory_of(processes.descendants(root))
    total = sum(used.values())
    if total <= limit_bytes:
        return None
    pid = max(used, key=used.__getitem__)
    name = _name_of(pid)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return (
        f"Out of memory: Killed process {pid} ({name}), {used[pid] // MIB} MiB;"
        f" the host had {total // MIB} of {limit_bytes // MIB} MiB in use"
    )


def memory_of(pids: Collection[int]) -> Mapping[int, int]:
    """Return the bytes that processes hold; of what several share, each holds a part."""
    found: dict[int, int] = {}
    for pid in pids:
        # It may be gone by now.
        with suppress(OSError):
            found[pid] = _held_by(pid)
    return found


def _held_by(pid: int) -> int:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith("Pss:")) * 1024


def _name_of(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text("utf-8").strip()
    return "?"
