"""How the scenarios begin and end."""

from __future__ import annotations

from typing import Any

from shared.core.stages import Stage
from tests.crash.worlds import CheapWorld

LOST = "tpuctl-abc123-uid00001-g1-b0"
NEXT = "tpuctl-abc123-uid00001-g2-b0"


def running(world: CheapWorld, **spec: Any) -> CheapWorld:
    """Let a job run for long enough that silence counts."""
    world.run_job(**spec)
    world.ticks(30.0, every_s=2.0)
    world.slices.calls.clear()
    return world


def all_end_well(world: CheapWorld) -> None:
    """Let every job succeed, and everything be given back."""
    for _ in range(100):
        world.finish_job()
        if all(fields["stage"] == Stage.SUCCEEDED for fields in world.all("jobs")):
            break
        world.tick(2.0)
    world.tick_until_quiet()
    assert {Stage.SUCCEEDED.value} == {fields["stage"] for fields in world.all("jobs")}
    assert () == world.slices.names
