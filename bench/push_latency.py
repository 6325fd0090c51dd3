"""From a preemption notice on a host to the accepted request for the next slice, through push.

``python -m bench push_latency``. Hosts are real processes, the functions are served as they are
deployed, the messages go through the official Pub/Sub emulator, the documents through
Firestore's. Both ends are times of this machine's clock: the notice as the host sees it, the
request as the simulated cloud takes it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from tests.installations import Installation, Work, running_google, until

JOBS: Final = 2
ROUNDS: Final = 5
TARGET_S: Final = 2.0
NOTICE_S: Final = 3.0
PASSED, MISSED = 0, 1


def main() -> int:
    """Preempt some jobs again and again; fail if the median misses its target."""
    with (
        tempfile.TemporaryDirectory(prefix="tpuctl-push-") as folder,
        running_google(Path(folder, "home")) as installation,
    ):
        sleep = ("sleep", "3600")
        works = [installation.run(f"job-{number}", command=sleep) for number in range(JOBS)]
        found = [_measure(installation, work) for _ in range(ROUNDS) for work in works]
    _print(found)
    return PASSED if median(found) <= TARGET_S else MISSED


def _measure(installation: Installation, work: Work) -> float:
    """Preempt a running job; return the seconds until the next request was accepted."""
    work.until("running")
    generation, before = work.slice.generation, installation.creates()
    begun = time.time()
    installation.admin.post(f"nodes/{work.node}:preempt", {"notice": True, "notice_s": NOTICE_S})
    until(lambda: installation.creates() > before, lambda: "no request was made")
    asked = [
        float(call["at"])
        for call in installation.calls()
        if f"-g{generation + 1}-" in call["path"] and work.slice.uid in call["path"]
    ]
    return min(asked) - begun


def _print(found: Sequence[float]) -> None:
    rows = (
        ("notices", f"{len(found)}"),
        ("median", f"{median(found):.2f} s"),
        ("fastest, slowest", f"{min(found):.2f} s, {max(found):.2f} s"),
        ("target for the median", f"{TARGET_S:.1f} s"),
    )
    for name, value in rows:
        print(f"{name:28}{value}")
