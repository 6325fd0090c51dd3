"""A storm: 2,000 preemption notices through real Pub/Sub push, each twice, in any order.

``python -m bench preemption_storm`` (``TPUCTL_STORM=200`` for a smaller one). Everything but
Google is real: functions-framework processes as they are deployed, the official Firestore and
Pub/Sub emulators; the bound on requests a minute is out of the way. Afterwards every slice has
exactly one new generation, and nothing was parked.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from cli.emulated import installation as emulated
from shared.settings import SECRET_VARIABLE
from shared.wiring import CLOUD_VARIABLE
from tests import loads

SLICES: Final = 2000
# What is measured is the way to a request: a budget of 60 a minute would be all there is to see.
UNBOUNDED: Final = {"creates_per_minute": 100_000}
PASSED, MISSED = 0, 1


def main() -> int:
    """Run one storm; fail unless all of it came out right."""
    count = int(os.environ.get("TPUCTL_STORM", str(SLICES)))
    os.environ[SECRET_VARIABLE] = loads.SECRET
    with tempfile.TemporaryDirectory(prefix="tpuctl-storm-") as folder:
        home = Path(folder, "home")
        try:
            settings = emulated.up(
                home,
                cloud=loads.CLOUD,
                policy=loads.POLICY,
                installation=loads.INSTALLATION,
                limits=UNBOUNDED,
            )
            outcome = loads.storm(settings, os.environ[CLOUD_VARIABLE], count, Path(folder))
        finally:
            emulated.down(home)
    right = outcome.generations.get(2, 0)
    rows = (
        ("slices preempted", f"{outcome.slices}"),
        ("notices delivered by push", f"{outcome.messages}, each twice, shuffled"),
        ("slices with generation 2", f"{right}"),
        ("slices with another one", f"{outcome.slices - right}"),
        ("queued resources made", f"{len(outcome.created)}"),
        ("messages parked", f"{len(outcome.parked)}"),
        ("until the last request", f"{outcome.seconds:.1f} s"),
        ("slices a second", f"{count / outcome.seconds:.1f}"),
    )
    for name, value in rows:
        print(f"{name:28}{value}")
    return PASSED if outcome.is_right else MISSED
