"""The kill switch: nothing is created, nothing that runs is touched, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.app.pause import PAUSE, find_pause
from shared.core.orders import Outcome, Verdict
from shared.core.stages import Stage
from tests.identities import ADA
from tests.unit.app.records import JOB
from tests.unit.app.signed import ROOT, Cloud
from tests.unit.app.world import OTHER_JOB, World

TEXT = "paused by ada since 2030-01-01 00:00 UTC: the bill"


def pause(world: World, **args: Any) -> Outcome:
    """Switch it on."""
    return world.outcome(world.order("pause", {"reason": "the bill", **args}))


def unpause(world: World) -> Outcome:
    """Switch it off."""
    return world.outcome(world.order("unpause", {}))


def test_what_is_submitted_waits_and_says_why(world: World) -> None:
    """It is accepted, and nothing is asked for."""
    assert Verdict.ACCEPTED is pause(world).outcome
    assert Verdict.ACCEPTED is world.submit().outcome
    world.ticks(30.0)

    assert 0 == world.slices.calls["create"]
    assert Stage.PROVISIONING is world.job().stage
    assert TEXT in world.job().summary


def test_what_waited_goes_on_with_the_next_tick(world: World) -> None:
    """Without another order."""
    pause(world)
    world.submit()
    world.tick()
    assert Verdict.ACCEPTED is unpause(world).outcome
    world.tick_until(world.runs_attempt(0), limit_s=10.0)

    assert 1 == world.slices.calls["create"]
    assert "" == world.bid.detail


def test_a_lost_slice_is_not_replaced_until_the_pause_is_over(world: World) -> None:
    """Its old capacity is deleted meanwhile."""
    world.run_job()
    lost = world.bid.name
    pause(world)
    world.slices.preempt(lost)
    world.ticks(60.0)
    assert 1 == world.slices.calls["create"]
    assert () == world.slices.names
    assert Stage.RECOVERING is world.job().stage
    assert TEXT in world.job().summary
    unpause(world)
    world.tick_until(world.runs_attempt(1))

    assert 2 == world.slices.calls["create"]


def test_what_runs_goes_on_and_ends_as_ever(world: World) -> None:
    """Its result is recorded, and its slice is let go."""
    world.run_job()
    pause(world)
    world.ticks(60.0)
    assert Stage.RUNNING is world.job().stage
    world.finish_job()
    world.tick_until_quiet()

    assert Stage.SUCCEEDED is world.job().stage


def test_a_job_can_be_stopped_while_all_is_paused(world: World) -> None:
    """Also one that waits for it."""
    pause(world)
    world.submit()
    world.stop()
    world.tick_until_quiet()

    assert Stage.CANCELLED is world.job().stage
    assert 0 == world.slices.calls["create"]


def test_a_pause_is_one_document_that_says_what_it_is(world: World) -> None:
    """For people in a console."""
    pause(world)

    assert f"{TEXT}; nothing is created" == world.fields(PAUSE)["summary"]


def test_nothing_is_paused_twice_or_unpaused_twice(world: World) -> None:
    """The first one stands: who paused, and why."""
    pause(world)
    again = pause(world, reason="another one")
    unpause(world)

    assert (Verdict.REFUSED, f"it is {TEXT}") == (again.outcome, again.reason)
    assert "nothing is paused" == unpause(world).reason
    assert find_pause(world.store) is None


def test_the_same_order_twice_is_one_pause(world: World) -> None:
    """Also when it comes again after it was taken back."""
    order = world.order("pause", {"reason": ""}, order_id="twice")
    unpause(world)
    world.order("pause", {"reason": ""}, order_id="twice")

    assert Verdict.ACCEPTED is world.outcome(order).outcome
    assert find_pause(world.store) is None


@pytest.mark.parametrize(
    "reason", [pytest.param("x" * 201, id="long"), pytest.param("a\nb", id="two lines")]
)
def test_a_reason_is_one_short_line(world: World, reason: str) -> None:
    """It is shown beside every job that waits."""
    world.order("pause", {"reason": reason})

    assert find_pause(world.store) is None
    assert 1 == len(world.all("parked"))


def test_a_pause_before_the_loss_of_two_slices_holds_both(world: World) -> None:
    """Whatever is delivered meanwhile, and however often."""
    world.run_job()
    world.run_job(OTHER_JOB)
    pause(world)
    for name in world.slices.names:
        world.slices.preempt(name)
    world.ticks(60.0)
    assert 2 == world.slices.calls["create"]
    unpause(world)
    world.tick_until(world.runs_attempt(1))
    world.tick_until(world.runs_attempt(1, OTHER_JOB))

    assert [1, 1] == [world.job(job).attempt for job in (JOB, OTHER_JOB)]


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """Make an installation of several teams."""
    made = Cloud(tmp_path)
    yield made
    made.close()


def test_only_an_admin_pauses_what_is_everybodys(cloud: Cloud) -> None:
    """And lets it go on."""
    refused = cloud.say("pause", {"reason": ""}, cloud.token(ADA))
    assert "only an admin may pause the installation (cloud.admins)" in refused.reason
    assert find_pause(cloud.store) is None
    cloud.say("pause", {"reason": ""}, cloud.token(ROOT))
    refused = cloud.say("unpause", {}, cloud.token(ADA))
    assert "only an admin may let the installation go on" in refused.reason
    paused = find_pause(cloud.store)
    assert paused is not None
    assert ROOT == paused.by
    cloud.say("unpause", {}, cloud.token(ROOT))

    assert find_pause(cloud.store) is None
