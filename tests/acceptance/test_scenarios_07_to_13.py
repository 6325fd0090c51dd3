"""The last seven of thirteen scenarios: when it happens, to which part, and to how many.

What needs real processes is in ``test_scenarios_processes.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shared.core.causes import Cause
from shared.core.limits import Limits
from shared.core.stages import Stage
from tests.acceptance.clouds import add_nodes, take_one_node
from tests.acceptance.lives import LOST, NEXT, all_end_well, running
from tests.crash.worlds import CheapWorld

Do = Callable[[CheapWorld], object]


# --- 7, 8: when it happens ----------------------------------------------------------------------


def boots_nothing(world: CheapWorld) -> None:
    """Grant the next request; its machines do not come up."""
    world.slices.make_ready(NEXT)


def is_being_set_up(world: CheapWorld) -> None:
    """Grant the next request; its hosts come up, and their setup takes its time."""
    for host in world.give(NEXT):
        host.is_slow = True


@pytest.mark.parametrize(
    "comes_up, generation, losses",
    [
        pytest.param(boots_nothing, 2, 1, id="before its hosts booted"),
        pytest.param(is_being_set_up, 3, 2, id="in the middle of its setup"),
    ],
)
def test_07_preempted_again_during_setup_before_any_heartbeat(
    world: CheapWorld, comes_up: Do, generation: int, losses: int
) -> None:
    """The second loss costs no attempt, and nothing at all where the slice never served."""
    running(world)
    world.slices.preempt(LOST)
    world.gives = False
    world.tick()
    comes_up(world)
    world.tick()
    assert [0] == [attempt.number for attempt in world.attempts()]
    world.slices.preempt(NEXT)
    world.gives = True
    world.tick_until(world.runs_attempt(1))

    begun = [(attempt.number, attempt.generation) for attempt in world.attempts()]
    assert [(0, 1), (1, generation)] == begun
    assert (generation, losses) == (world.slice().generation, world.job().spent.preemptions)
    all_end_well(world)


def test_08_preempted_before_the_first_checkpoint(world: CheapWorld) -> None:
    """The next attempt begins where the first one began."""
    running(world)
    world.slices.preempt(LOST)
    world.tick_until(world.runs_attempt(1))

    assert [None, None] == [attempt.start_step for attempt in world.attempts()]
    assert Cause.PREEMPTED is world.attempts()[0].cause
    all_end_well(world)


def test_08_preempted_in_the_middle_of_a_checkpoint(world: CheapWorld) -> None:
    """What was not complete is not gone on from."""
    running(world)
    world.hosts[0].checkpoint(10)
    world.drain()
    world.hosts[0].progress(19)
    world.slices.preempt(LOST)
    world.tick_until(world.runs_attempt(1))

    assert (10, 10) == (world.attempts()[0].checkpoint_step, world.attempts()[1].start_step)
    all_end_well(world)


# --- 9, 11: a part of it ------------------------------------------------------------------------


def test_09_one_of_four_slices_of_a_multislice_lost(world: CheapWorld) -> None:
    """One node of four in a request that says it is ACTIVE: the whole generation is replaced."""
    running(world)
    add_nodes(world, LOST, 3)
    world.ticks(10.0)
    assert 1 == world.slice().generation
    take_one_node(world, LOST)
    world.tick()

    assert (Stage.RECOVERING, 2) == (world.job().stage, world.slice().generation)
    assert Cause.PREEMPTED is world.attempts()[0].cause
    world.tick_until(world.runs_attempt(1))
    all_end_well(world)


def test_11_host_0_healthy_host_1_dead(world: CheapWorld) -> None:
    """A leader that looks well hides nobody: the slice is replaced, and two never run at once."""
    running(world)
    world.hosts[1].is_mute = True
    world.ticks(10.0)
    assert 1 == world.slice().generation
    world.tick_until(world.runs_attempt(1))

    assert (Cause.HOST_LOST, 2) == (world.attempts()[0].cause, world.slice().generation)
    all_end_well(world)


# --- 10: the workload itself --------------------------------------------------------------------


def exits_7(world: CheapWorld) -> None:
    """End with an error."""
    world.hosts[1].finish(7, text="ValueError: no")


def runs_out_of_memory(world: CheapWorld) -> None:
    """Be killed by the kernel."""
    world.hosts[1].finish(None, signal=9)


def hangs(world: CheapWorld) -> None:
    """Leave one host waiting for another one that is through."""
    world.hosts[1].finish(0)


@pytest.mark.parametrize(
    "fail, cause, exit_code, then",
    [
        pytest.param(exits_7, Cause.ERROR, 7, Stage.FAILED, id="exits 7"),
        pytest.param(runs_out_of_memory, Cause.OOM, None, Stage.FAILED, id="out of memory"),
        pytest.param(hangs, Cause.HANG, None, Stage.RUNNING, id="hangs"),
    ],
)
def test_10_the_workload_fails_on_a_ready_slice(
    world: CheapWorld, fail: Do, cause: Cause, exit_code: int | None, then: Stage
) -> None:
    """It is told apart from a loss: no new slice, no budget of preemptions, the right reason."""
    running(world, finish_grace_s=20.0)
    fail(world)
    world.ticks(60.0)

    attempt = world.attempts()[0]
    assert (cause, exit_code) == (attempt.cause, attempt.exit_code)
    assert (then, 0) == (world.job().stage, world.job().spent.preemptions)
    assert (1, 0, 0) == (
        world.slice().generation,
        world.slices.calls["create"],
        world.slices.calls["delete"],
    )


# --- 12, 13: many -------------------------------------------------------------------------------


def test_12_slices_named_foo_and_foo2(world: CheapWorld) -> None:
    """What happens to one never happens to the other whose name begins with it."""
    jobs = {"foo": "job000000001", "foo2": "job000000002"}
    for name, job in jobs.items():
        world.submit(job, name=name)
        world.tick_until(world.runs_attempt(0, job))
    kept = world.slice(jobs["foo2"]).generations[-1].bids[-1].name
    world.slices.preempt(world.slice(jobs["foo"]).generations[-1].bids[-1].name)
    world.tick_until(world.runs_attempt(1, jobs["foo"]))
    world.stop(jobs["foo"])
    world.ticks(30.0)

    assert ("foo", "foo2") == tuple(world.slice(job).name for job in jobs.values())
    assert Stage.CANCELLED is world.job(jobs["foo"]).stage
    assert (kept,) == world.slices.names
    assert world.runs_attempt(0, jobs["foo2"])()
    assert (Stage.RUNNING, 1) == (
        world.job(jobs["foo2"]).stage,
        world.slice(jobs["foo2"]).generation,
    )


ZONES = ("us-central1-a", "us-west1-c", "us-west4-a", "europe-west4-b")
HUNDRED = 100


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
def test_13_a_hundred_slices_in_four_zones_lost_in_one_minute(world: CheapWorld) -> None:
    """All recover; each loss makes one slice, and the cloud is asked as often as it allows."""
    jobs = [f"job{number:09}" for number in range(HUNDRED)]
    limits = world.app.limits
    world.app = replace(world.app, limits=Limits(creates_per_minute=10 * HUNDRED))
    for number, job in enumerate(jobs):
        zones = [ZONES[number % 4]]
        outcome = world.submit(job, accelerator_type="v5litepod-16", zones=zones)
        assert "accepted" == outcome.outcome, outcome.reason
    world.tick_until(lambda: count_at(world, Stage.RUNNING) == HUNDRED, limit_s=60.0, every_s=10.0)
    world.app = replace(world.app, limits=limits)
    names = world.slices.names
    made = Requests(world)
    for name in names:
        world.slices.preempt(name)
    world.tick_until(lambda: count_at(world, Stage.RUNNING) == 0, limit_s=60.0, every_s=10.0)
    world.tick_until(lambda: count_at(world, Stage.RUNNING) == HUNDRED, limit_s=400.0, every_s=10.0)
    world.ticks(20.0, every_s=10.0)

    assert [2] * HUNDRED == [world.slice(job).generation for job in jobs]
    assert [1] * HUNDRED == [world.job(job).spent.preemptions for job in jobs]
    assert not set(names) & set(world.slices.names)
    assert HUNDRED == len(world.slices.names) == len(set(made.names))
    assert max(made.in_a_minute) <= limits.creates_per_minute


class Requests:
    """Writes down what the cloud is asked for, and when."""

    def __init__(self, world: CheapWorld) -> None:
        self._world, self._create = world, world.slices.create
        self.asked: list[tuple[str, str]] = []
        world.slices.create = self  # type: ignore[method-assign]

    def __call__(self, request: Any) -> str:
        """Ask for a slice."""
        self.asked.append((f"{self._world.clock.now():%H:%M}", request.name))
        return self._create(request)

    @property
    def names(self) -> list[str]:
        """What was asked for."""
        return [name for _, name in self.asked]

    @property
    def in_a_minute(self) -> list[int]:
        """How often it was asked in each minute."""
        minutes = [minute for minute, _ in self.asked]
        return [minutes.count(minute) for minute in set(minutes)]


def count_at(world: CheapWorld, stage: Stage) -> int:
    """Count the jobs at a stage."""
    return sum(fields["stage"] == stage for fields in world.all("jobs"))
