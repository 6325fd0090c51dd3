"""Which cores of this machine a simulated host may use.

Standard library only: the hosts' first process (``machine.py``) stands on it.
"""

from __future__ import annotations

import os


def keep_to(count: int, seat: int) -> None:
    """Keep this process and all that it starts to ``count`` cores, neighbours to others (Linux).

    Libraries that ask how many cores they may use start as many threads, and no more. 0: all.
    """
    if not count or not hasattr(os, "sched_setaffinity"):
        return
    ours = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {ours[(seat * count + each) % len(ours)] for each in range(count)})
