"""What this has to survive because others do not: the first six of thirteen scenarios.

The real use cases over a cloud in memory, where every call is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shared.app.messages import wake_recovery
from shared.core.causes import Cause
from shared.core.stages import Stage
from shared.errors import ControlPlaneError, NotAuthorized, RateLimited, Stockout, Unavailable
from shared.ports import Delivery
from tests.acceptance.clouds import starve
from tests.acceptance.lives import LOST, NEXT, all_end_well, running
from tests.crash.enumerating import Prepared
from tests.crash.points import Fault, Point, Tap
from tests.crash.use_cases import UseCase
from tests.crash.worlds import CheapWorld
from tests.unit.app.world import ZONE

Do = Callable[[CheapWorld], object]


# --- 1, 2: no capacity --------------------------------------------------------------------------


def test_01_one_stockout_then_capacity(world: CheapWorld) -> None:
    """The same generation asks again by itself, and the job runs."""
    world.slices.fail_next("create", Stockout("there is no more capacity", zone=ZONE))
    world.submit()
    assert Stage.PROVISIONING is world.job().stage
    world.tick_until(world.runs_attempt(0))

    assert (1, 2) == (world.slice().generation, world.slices.calls["create"])
    assert 0 == world.job().spent.preemptions
    all_end_well(world)


@pytest.mark.parametrize("is_refused", [False, True], ids=["waits in the queue", "is refused"])
def test_02_a_long_stockout_while_three_other_slices_are_preempted(
    world: CheapWorld, *, is_refused: bool
) -> None:
    """They recover at once; the one that waits is not forgotten, nor does it hold them up."""
    starved = "job000000009"
    feed = starve(world, "uid00009", is_refused=is_refused)
    others = [f"job00000000{number}" for number in range(1, 4)]
    for job in [starved, *others]:
        world.submit(job)
    for job in others:
        world.tick_until(world.runs_attempt(0, job))
        world.slices.preempt(world.slice(job).generations[-1].bids[-1].name)
        world.ticks(60.0, every_s=5.0)

    assert [2, 2, 2] == [world.slice(job).generation for job in others]
    assert all(world.runs_attempt(1, job)() for job in others)
    assert (Stage.PROVISIONING, 1) == (world.job(starved).stage, world.slice(starved).generation)
    assert world.job(starved).summary != ""
    feed()
    world.tick_until(world.runs_attempt(0, starved), limit_s=300.0, every_s=2.0)
    all_end_well(world)


# --- 3, 4: what is lost and what is not ---------------------------------------------------------


@pytest.mark.parametrize(
    "take, cause",
    [
        pytest.param(
            lambda world: world.slices.set_node(LOST, state="TERMINATED"),
            Cause.PREEMPTED,
            id="node TERMINATED",
        ),
        pytest.param(
            lambda world: world.slices.set_node(LOST, state="STOPPED"),
            Cause.PREEMPTED,
            id="node STOPPED",
        ),
        pytest.param(lambda world: world.slices.vanish(LOST), Cause.DELETED, id="missing (404)"),
        pytest.param(
            lambda world: world.slices.suspend(LOST), Cause.PREEMPTED, id="request SUSPENDED"
        ),
        pytest.param(
            lambda world: world.slices.set_state(LOST, "FAILED"),
            Cause.PREEMPTED,
            id="request FAILED",
        ),
    ],
)
def test_03_every_way_to_be_gone_is_recognised(world: CheapWorld, take: Do, cause: Cause) -> None:
    """By one tick, as one loss; and what is left of the old slice is deleted."""
    running(world)
    take(world)
    world.tick()
    assert (Stage.RECOVERING, 2) == (world.job().stage, world.slice().generation)
    assert cause is world.attempts()[0].cause
    world.tick_until(world.runs_attempt(1))
    world.ticks(30.0, every_s=2.0)

    assert (NEXT,) == world.slices.names
    assert (2, 1) == (world.slice().generation, world.job().spent.preemptions)
    all_end_well(world)


@pytest.mark.parametrize("method", ["list", "get"])
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(NotAuthorized("403"), id="403"),
        pytest.param(RateLimited("429"), id="429"),
        pytest.param(Unavailable("503"), id="503"),
    ],
)
def test_04_an_error_on_a_healthy_slice_sends_no_delete(
    world: CheapWorld, method: str, error: ControlPlaneError
) -> None:
    """For ten minutes, by the tick and by recovery's own looks: unknown is not lost."""
    running(world)
    world.slices.fail_next(method, error, count=10_000)
    for _ in range(60):
        world.publish(
            "preemptions", wake_recovery(world.slice().name, "a look", look=True).message()
        )
        world.tick(10.0)

    assert world.slices.calls[method] >= 60
    assert (0, 0) == (world.slices.calls["delete"], world.slices.calls["create"])
    assert (Stage.RUNNING, 1) == (world.job().stage, world.slice().generation)
    assert world.runs_attempt(0)()
    world.slices.fail_next(method, error, count=0)
    all_end_well(world)


# --- 5, 6: twice, and half ----------------------------------------------------------------------


def after_a_loss(world: CheapWorld) -> Prepared:
    """Bring recovery to where it deletes what was lost and asks for the next."""
    running(world)
    world.slices.preempt(LOST)
    world.slices.suspend(LOST)
    world.clock.advance(0.5)
    world.check_health()
    world.drain_but("recovery")
    (delivery, *_) = world.pending("recovery")
    use_case = UseCase("after a loss", "recovery", running)
    return Prepared(use_case, world, delivery)


def test_05_the_same_event_twice_makes_one_delete_and_one_create(world: CheapWorld) -> None:
    """And so do two ticks, and the messages that follow from both."""
    prepared = after_a_loss(world)
    prepared.invoke(world, Tap())
    prepared.invoke(world, Tap())
    world.check_health()
    world.check_health()
    world.drain()

    assert (1, 1) == (world.slices.calls["delete"], world.slices.calls["create"])
    assert (NEXT,) == world.slices.names
    assert 2 == world.slice().generation
    all_end_well(world)


@pytest.mark.parametrize("second_at", range(21))
def test_05_two_at_once_make_one_delete_and_one_create(world: CheapWorld, second_at: int) -> None:
    """Wherever the second one runs inside the first, one slice is gone and one is made."""
    prepared = after_a_loss(world)
    made_before = world.slices._made["operation"]
    tap = Interrupted(second_at, lambda: prepared.invoke(world, Tap()))
    prepared.invoke(world, tap)
    world.drain()

    assert tap.was_interrupted
    assert made_before + 1 == world.slices._made["operation"]
    assert (NEXT,) == world.slices.names
    assert (2, 1) == (world.slice().generation, world.job().spent.preemptions)
    all_end_well(world)


class Interrupted(Tap):
    """A tap that lets something else happen right before one call."""

    def __init__(self, before: int, do: Callable[[], object]) -> None:
        super().__init__()
        self._before, self._do = before, do
        self.was_interrupted = False

    def call(self, name: str, do: Callable[[], Any]) -> Any:
        """Make a call; before the chosen one, be interrupted."""
        if not self.was_interrupted and len(self.calls) >= self._before:
            self.was_interrupted = True
            self._do()
        return super().call(name, do)


@pytest.mark.parametrize("comes_again", [True, False], ids=["comes again", "never comes"])
def test_06_killed_between_delete_and_create(world: CheapWorld, *, comes_again: bool) -> None:
    """The redelivery finishes it, or the tick alone does: still one of each that counts."""
    prepared = after_a_loss(world)
    counted = Tap()
    prepared.invoke(world.copy(), counted)
    number = counted.calls.index("slices.delete")
    assert number < counted.calls.index("slices.create")
    made_before = world.slices._made["operation"]
    prepared.invoke(world, Tap(Point(number, "slices.delete", Fault.DIES_AFTER)))
    assert () == world.slices.names
    if comes_again:
        prepared.again(world)
    world.tick_until(world.runs_attempt(1), limit_s=30.0)

    assert made_before + 1 == world.slices._made["operation"]
    assert (2, 1) == (world.slice().generation, world.job().spent.preemptions)
    all_end_well(world)


def test_the_second_one_really_runs_inside_the_first(world: CheapWorld) -> None:
    """As many calls as there are places to be interrupted at."""
    prepared = after_a_loss(world)
    counted = Tap()
    prepared.invoke(world, counted)

    calls = [call for call in counted.calls if not call.startswith("deadline")]
    assert isinstance(prepared.delivery, Delivery)
    assert len(calls) >= 10
