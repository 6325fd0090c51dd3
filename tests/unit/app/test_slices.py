"""Slices that outlive a job: held for a fix, used by the next one, released."""

from typing import Any

from shared.core.causes import Cause
from shared.core.stages import Stage
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, World

OTHER_TYPE = {"accelerator_type": "v5p-16"}


def fail_job(world: World, **spec: Any) -> str:
    """Run a job that fails; return the name of its bid."""
    world.run_job(**spec)
    name = world.bid.name
    world.finish_job(1)
    assert Stage.FAILED is world.job().stage
    return name


def test_a_slice_is_held_after_an_error_and_let_go_when_its_time_is_up(world: World) -> None:
    """Long enough for the fix, and not for ever."""
    held = fail_job(world, hold_s=30.0)
    world.ticks(25.0)
    assert [held] == list(world.slices.names)
    world.ticks(7.0)

    assert [] == list(world.slices.names)
    world.tick_until_quiet()


def test_a_slice_is_let_go_at_once_after_a_success(world: World) -> None:
    """There is nothing to fix."""
    world.run_job()
    world.finish_job()
    world.tick()

    assert [] == list(world.slices.names)


def test_a_slice_is_not_deleted_before_all_logs_are_shipped(world: World) -> None:
    """The last lines of a run are what people look for."""
    world.run_job()
    name, hosts = world.bid.name, world.hosts
    for host in hosts:
        host.finish(flushes=False)
    world.ticks(5.0)
    assert Stage.SUCCEEDED is world.job().stage
    assert [name] == list(world.slices.names)
    for host in hosts:
        host.flush()
    world.ticks(2.0)

    assert [] == list(world.slices.names)


def test_logs_that_are_never_shipped_do_not_hold_a_slice_for_ever(world: World) -> None:
    """After a while it goes without them."""
    world.run_job()
    for host in world.hosts:
        host.finish(flushes=False)
    world.ticks(world.policy.notice_s + 3.0)

    assert [] == list(world.slices.names)


def test_a_second_job_starts_on_a_held_slice(world: World) -> None:
    """Warm: no new bid, the next process at once, attempts counted from 0."""
    held = fail_job(world)
    outcome = world.submit(OTHER_JOB, place="digits-1", name="ignored")
    assert "accepted" == outcome.outcome
    world.tick_until(world.runs_attempt(0, OTHER_JOB), limit_s=2.0)

    assert [held] == list(world.slices.names)
    assert Stage.FAILED is world.job(JOB).stage
    assert Cause.ERROR is world.job(JOB).cause
    world.finish_job()
    assert Stage.SUCCEEDED is world.job(OTHER_JOB).stage
    world.tick_until_quiet()


def test_a_slice_that_serves_a_job_is_busy(world: World) -> None:
    """Refused, whoever asks."""
    world.run_job()

    expected = "slice digits-1 is busy with another job"
    assert expected == world.submit(OTHER_JOB, place="digits-1").reason


def test_a_job_for_another_type_is_refused(world: World) -> None:
    """The refusal names both types."""
    fail_job(world)

    expected = "slice digits-1 is a v4-16, not a v5p-16"
    assert expected == world.submit(OTHER_JOB, place="digits-1", zones=[], **OTHER_TYPE).reason


def test_a_slice_that_nobody_knows_is_refused(world: World) -> None:
    """The refusal names it."""
    assert "there is no slice elsewhere" == world.submit(place="elsewhere").reason


def test_a_slice_that_is_being_deleted_takes_no_job(world: World) -> None:
    """Too late."""
    world.run_job()
    world.slices.slow_deletes = True
    world.finish_job()

    expected = "slice digits-1 is being deleted"
    assert expected == world.submit(OTHER_JOB, place="digits-1").reason


def test_a_busy_slice_is_not_released(world: World) -> None:
    """Its job comes first."""
    world.run_job()

    assert (
        "slice digits-1 is busy with job 1: tpuctl stop 1 first" == world.release("digits-1").reason
    )
    world.ticks(5.0)
    assert Stage.RUNNING is world.job().stage


def test_a_held_slice_is_released_by_its_owner(world: World) -> None:
    """Before its time is up."""
    fail_job(world)
    assert "accepted" == world.release("digits-1").outcome
    world.tick()

    assert [] == list(world.slices.names)
    world.tick_until_quiet()


def test_a_slice_that_is_gone_is_not_released(world: World) -> None:
    """There is nothing to let go."""
    world.run_job()
    world.finish_job()
    world.tick_until_quiet()

    assert "slice digits-1 is gone already" == world.release("digits-1").reason


def test_a_held_slice_that_is_lost_is_not_replaced(world: World) -> None:
    """Nobody needs it any more."""
    held = fail_job(world)
    world.slices.preempt(held)
    world.tick_until_quiet()

    assert 1 == world.slice().generation


def test_what_a_slice_cost_is_written_down_once(world: World) -> None:
    """One line a bid, with the time that it was there."""
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    world.finish_job()
    world.tick_until_quiet()

    lines = world.all("ledger")
    assert ["uid00001-g1-b0", "uid00001-g2-b0"] == [line["id"] for line in lines]
    assert [JOB, JOB] == [line["job"] for line in lines]
    assert [8, 8] == [line["chips"] for line in lines]
