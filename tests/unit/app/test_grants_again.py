"""Before every create grants are asked again: they end, and others use them."""

from __future__ import annotations

from shared.core.orders import Verdict
from shared.core.slices import BidStage
from shared.core.stages import Stage
from shared.errors import QuotaExceeded
from tests.unit.app.test_grants import COSTS, FIVE, add, end_grant, remove
from tests.unit.app.world import OTHER_JOB, ZONE, World


def test_a_grant_s_end_ends_no_job(world: World) -> None:
    """What runs goes on."""
    end_grant(world)
    world.run_job()
    world.ticks(60.0)

    assert Stage.RUNNING is world.job().stage


def test_a_slice_lost_after_its_grant_s_end_is_not_made_again(world: World) -> None:
    """The job fails with the true reason, and goes on when its owner pays."""
    end_grant(world)
    world.run_job()
    world.ticks(60.0)
    asked = set(world.slices.names)
    world.slices.preempt(world.bid.name)
    world.tick_until(world.stands_at(Stage.FAILED))

    assert world.job().reason.startswith(COSTS)
    assert world.job().reason.endswith("trc ended with 2030-01-01; tpuctl resume --i-pay goes on")
    assert BidStage.REQUESTED is not world.bid.stage
    assert set(world.slices.names) <= asked
    spec = {**world.job().spec, "i_pay": True}
    assert Verdict.ACCEPTED is world.again(spec=spec).outcome
    world.tick_until(world.runs_attempt(1))


def test_who_pays_is_not_asked_again(world: World) -> None:
    """The next generation costs as much as the first."""
    add(world, tiers=["on-demand"])
    world.run_job(i_pay=True)
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))


def test_another_granted_zone_is_asked_first(world: World) -> None:
    """Where a zone's grant is gone, another zone may have one."""
    add(world, name="a", zones=["us-east5-a"], types=["v5p"])
    add(world, name="c", zones=["us-central1-a"], types=["v5p"])
    world.run_job(zones=["us-east5-a", "us-central1-a"], **FIVE)
    remove(world, "a")
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))

    assert "us-central1-a" == world.bid.zone


def test_a_slice_waits_until_there_is_room_again(world: World) -> None:
    """Somebody else has the chips, who will give them back."""
    add(world, chips=8)
    world.run_job()
    remove(world)
    world.run_job(OTHER_JOB)
    add(world, chips=8)
    world.slices.preempt(world.bid.name)
    world.tick_until(lambda: "has 0 of 8 chips left (digits-2 uses 8)" in world.bid.detail)
    name, stage = world.bid.name, world.job().stage
    world.ticks(2 * world.policy.intent_due_s)

    assert (Stage.RECOVERING, name, BidStage.INTENDED) == (stage, world.bid.name, world.bid.stage)
    world.stop(OTHER_JOB)
    world.tick_until(world.runs_attempt(1))
    assert ZONE == world.bid.zone


def test_the_last_chips_go_to_one_of_two(world: World) -> None:
    """Both were accepted before either was created; neither waits for the other for ever."""
    world.gives = False
    world.slices.fail_next("create", QuotaExceeded("busy"), count=2)
    world.submit()
    world.submit(OTHER_JOB)
    add(world, chips=8)
    world.gives = True
    world.tick_until(world.runs_attempt(0))
    world.ticks(2 * world.policy.intent_due_s)

    assert 1 == len(world.slices.names)
    assert Stage.PROVISIONING is world.job(OTHER_JOB).stage
