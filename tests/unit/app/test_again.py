"""Resume and rerun: a job that is over goes on, as its next attempt."""

import pytest

from shared.core.causes import Cause
from shared.core.stages import Stage
from tests.unit.app.world import World, spec_of


def test_a_job_that_succeeded_resumes_on_a_new_slice(world: World) -> None:
    """Its slice was let go; the run and its folder stay."""
    world.run_job()
    first = world.job().slice_uid
    world.finish_job()
    assert "accepted" == world.again().outcome
    world.tick_until(world.runs_attempt(1))

    assert world.job().slice_uid != first
    assert (1, 0) == (world.attempts()[1].resumes, world.attempts()[1].run)
    world.finish_job()
    world.tick_until_quiet()


def test_a_job_that_failed_is_run_again_on_the_slice_that_is_held(world: World) -> None:
    """The fix runs where the failure was, from scratch, in a folder of its own."""
    world.run_job()
    held = world.bid.name
    world.farm.each(lambda host: host.checkpoint(5))
    world.finish_job(1)
    world.finish_job(1)
    assert Stage.FAILED is world.job().stage
    world.again("rerun", spec=spec_of(command=["python", "fixed.py"]))
    world.tick_until(world.runs_attempt(2))

    assert [held] == list(world.slices.names)
    newest = world.attempts()[-1]
    assert (1, 0, None) == (newest.run, newest.resumes, newest.start_step)
    assert world.attempts()[0].spec_sha256 != newest.spec_sha256


def test_a_job_that_was_cancelled_resumes(world: World) -> None:
    """Cancelled is left by its owner alone, and a stop is forgotten."""
    world.run_job()
    world.stop(kill=True)
    world.again()
    world.tick_until(world.runs_attempt(1))

    assert Stage.RUNNING is world.job().stage
    assert not world.job().kill


def test_a_job_goes_on_from_a_chosen_step(world: World) -> None:
    """The step is told to each attempt until a newer checkpoint is complete."""
    world.run_job()
    world.stop(kill=True)
    world.again(from_step=40)
    world.tick_until(world.runs_attempt(1))

    assert (40, 40) == (world.attempts()[1].from_step, world.attempts()[1].start_step)
    world.hosts[0].checkpoint(80)
    world.drain()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(2))
    assert 40 == world.attempts()[2].from_step
    world.hosts[0].checkpoint(90)
    world.drain()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(3))
    assert (None, 90) == (world.attempts()[3].from_step, world.attempts()[3].start_step)


def lost_for_good(world: World) -> None:
    """Fail a job by a notice, while its command takes all the time it can get."""
    world.run_job(rule="resume", grace_s=600.0)
    world.slices.slow_deletes = True
    world.deafen()
    world.hosts[0].notice()
    world.drain()
    assert Stage.FAILED is world.job().stage


def test_a_resumed_job_starts_on_a_new_slice_only_when_its_last_attempt_is_dead(
    world: World,
) -> None:
    """It prepares in parallel, and waits, and starts as soon as the old node is gone."""
    lost_for_good(world)
    old = world.bid.name
    world.again()
    world.ticks(60.0)
    assert Stage.PREPARING is world.job().stage
    expected = "prepared; waits until its last attempt is known to be dead"
    assert expected == world.job().summary
    world.slices.finish_delete(old)
    world.ticks(world.policy.absence_s + 3.0)

    assert world.runs_attempt(1)()


def test_an_owner_who_presumes_the_last_attempt_dead_does_not_wait(world: World) -> None:
    """The decision is theirs, and it is written down."""
    lost_for_good(world)
    world.farm.each(lambda host: host.reboot())
    world.again(presume_dead=True)
    world.tick_until(world.runs_attempt(1), limit_s=10.0)

    assert "is presumed dead by the owner" in world.story()


@pytest.mark.parametrize("kind", ["resume", "rerun"])
def test_a_job_that_runs_is_not_run_again(world: World, kind: str) -> None:
    """Refused, with its stage."""
    world.run_job()

    assert "job 1 has not ended: running; tpuctl stop 1" == world.again(kind).reason


def test_a_job_that_is_being_stopped_goes_on_when_its_writer_is_dead(world: World) -> None:
    """On the same slice, which was not let go; two attempts never run at once."""
    world.run_job()
    name = world.bid.name
    world.farm.each(lambda host: host.checkpoint(40))
    world.loses = lambda delivery: delivery.subscription == "report"
    world.stop()
    assert Stage.STOPPING is world.job().stage

    assert "accepted" == world.again().outcome
    assert 0 == world.job().attempt
    world.loses = lambda _: False
    world.tick_until(world.runs_attempt(1))

    assert name == world.bid.name
    assert Cause.DRAINED is world.attempts()[0].cause
    assert 40 == world.attempts()[1].start_step


def test_an_order_that_saw_another_attempt_is_refused(world: World) -> None:
    """Two people who press resume start one attempt."""
    world.run_job()
    world.finish_job()
    world.again()
    world.tick_until(world.runs_attempt(1))
    world.finish_job()

    assert "job 1 is at attempt 1 by now, not 0" == world.again(seen_attempt=0).reason


def test_budgets_begin_anew_with_an_owners_order(world: World) -> None:
    """What was spent before was forgiven."""
    world.run_job(budgets={"preemptions": 0})
    world.slices.preempt(world.bid.name)
    world.tick()
    assert Stage.FAILED is world.job().stage
    world.again(spec=spec_of(budgets={"preemptions": 1}))
    world.tick_until(world.runs_attempt(1))
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(2))

    assert 1 == world.job().spent.preemptions
