"""Half a minute of chaos on real parts; ``make chaos`` is the same for ten minutes.

Functions are killed, nodes preempted, connections cut and messages doubled by chance; afterwards
every job's output is what it is undisturbed, and nothing is left in the cloud.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from shared.topology import FUNCTIONS
from tests.chaos.play import POLICY, Plan, play

# Nothing here takes long to be noticed: a host that says nothing more is for the long run.
BAG: Final[Mapping[str, int]] = {
    "preempt_silently": 2,
    "preempt_with_notice": 5,
    "storm": 1,
    "vanish": 1,
    "kill_agent": 1,
    "kill_workload": 1,
    "kill_function": len(FUNCTIONS),
    "skip_ticks": 1,
    "tick_twice": 1,
    "cut_wire": 1,
    "refuse_wire": 1,
    "freeze_emulator": 1,
    "redeliver": 2,
    "stop_job": 1,
    "pause_all": 1,
    "fail_calls": 1,
}
PLAN: Final = Plan(
    seconds=35.0,
    jobs=4,
    at_once=4,
    seed=1,
    preemptions_min=6,
    calm_s=90.0,
    counted=(0.3, 0.5),
    rests_s=(0.6, 2.0),
    lasts_s=(0.5, 2.0),
    bag=BAG,
    policy={**POLICY, "silent_host_s": 8.0, "silent_slice_s": 12.0, "canary_s": 6.0},
)


@pytest.mark.slow
def test_chaos_loses_doubles_and_leaves_nothing(tmp_path: Path) -> None:
    """Nor does it change a single result."""
    outcome = play(PLAN, tmp_path / "home")

    assert [] == outcome.complaints
    assert PLAN.jobs <= outcome.finished == outcome.jobs
