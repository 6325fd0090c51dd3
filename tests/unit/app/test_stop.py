"""A stop wins at every stage, and is over when nothing can write any more, not before."""

from shared.core.causes import Cause
from shared.core.stages import Stage
from tests.unit.app.world import World


def test_a_job_that_waits_for_capacity_is_cancelled_at_once(world: World) -> None:
    """Nothing ran, nothing is left."""
    world.gives = False
    world.submit()
    assert Stage.PROVISIONING is world.job().stage
    world.stop()

    assert Stage.CANCELLED is world.job().stage
    world.tick_until_quiet()


def test_a_job_that_is_being_prepared_is_cancelled_at_once(world: World) -> None:
    """The setup is stopped, and its slice goes."""
    world.gives = False
    world.submit()
    for host in world.give(world.bid.name):
        host.is_slow = True
    world.drain()
    assert Stage.PREPARING is world.job().stage
    world.stop()

    assert Stage.CANCELLED is world.job().stage
    world.tick_until_quiet()
    assert [] == world.attempts()


def test_a_running_job_may_save_before_it_is_cancelled(world: World) -> None:
    """While a command takes its grace the job is stopping; then it is killed."""
    world.run_job()
    world.deafen()
    world.stop()
    world.ticks(4.0)
    assert Stage.STOPPING is world.job().stage
    assert 2 == sum(host.runs is not None for host in world.farm.living)
    world.ticks(2.0)

    assert Stage.CANCELLED is world.job().stage
    assert [] == [host for host in world.farm.living if host.runs]
    assert Cause.DRAINED is world.attempts()[0].cause
    world.tick_until_quiet()


def test_a_kill_gives_no_grace(world: World) -> None:
    """Killed, whatever the command thinks of it."""
    world.run_job(grace_s=600.0)
    world.deafen()
    world.stop(kill=True)

    assert Stage.CANCELLED is world.job().stage


def test_a_kill_hurries_a_stop(world: World) -> None:
    """Who cannot wait says so."""
    world.run_job(grace_s=600.0)
    world.deafen()
    world.stop()
    world.ticks(10.0)
    assert Stage.STOPPING is world.job().stage
    world.stop(kill=True)

    assert Stage.CANCELLED is world.job().stage


def test_a_job_that_waits_for_its_next_slice_is_cancelled(world: World) -> None:
    """The next slice is not wanted any more."""
    world.run_job()
    world.gives = False
    world.slices.preempt(world.bid.name)
    world.tick()
    assert Stage.RECOVERING is world.job().stage
    world.stop()
    world.gives = True
    world.tick_until(world.stands_at(Stage.CANCELLED))

    world.tick_until_quiet()
    assert [0] == [attempt.number for attempt in world.attempts()]


def test_a_slice_lost_while_its_job_is_being_stopped_is_not_replaced(world: World) -> None:
    """Cancel wins over a preemption."""
    world.run_job()
    world.deafen()
    world.stop()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.stands_at(Stage.CANCELLED))
    world.tick_until_quiet()

    assert 1 == world.slice().generation


def test_a_stop_waits_for_a_host_that_nobody_reaches(world: World) -> None:
    """Silent is not dead: cancelled is said when its node is gone or its lease is over."""
    world.run_job()
    world.ticks(25.0)
    world.slices.slow_deletes = True
    cut_off = world.hosts[1]
    cut_off.is_cut_off = cut_off.is_mute = True
    world.stop()
    world.ticks(100.0)
    assert Stage.STOPPING is world.job().stage
    assert [cut_off] == [host for host in world.farm.living if host.runs]
    world.tick_until(world.stands_at(Stage.CANCELLED))

    assert [] == [host for host in world.farm.living if host.runs]
    assert "(lease)" in world.story()


def test_a_job_that_has_ended_is_not_stopped(world: World) -> None:
    """The order is refused, with the stage."""
    world.run_job()
    world.finish_job()

    assert "job 1 has ended already: succeeded" == world.stop().reason
    assert Stage.SUCCEEDED is world.job().stage
