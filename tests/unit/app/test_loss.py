"""What is taken away is replaced, once; what is only not seen is not lost."""

from shared.core.causes import Cause
from shared.core.stages import Stage
from shared.errors import Unavailable
from tests.unit.app.world import OTHER_JOB, ZONE, World


def test_a_silent_loss_is_found_by_the_next_tick(world: World) -> None:
    """No host said a word: the cloud did."""
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.gives = False
    world.tick()

    assert Stage.RECOVERING is world.job().stage
    assert Cause.PREEMPTED is world.attempts()[0].cause
    assert 2 == world.slice().generation


def test_one_loss_makes_one_generation(world: World) -> None:
    """The notice, the listing and the suspension are three signs of one loss."""
    world.run_job()
    world.lose_with_every_sign()
    world.ticks(60.0)

    assert 2 == world.slice().generation
    assert 1 == world.job().spent.preemptions
    assert [0, 1] == [attempt.number for attempt in world.attempts()]


def test_the_next_slice_is_asked_for_before_the_old_one_is_deleted(world: World) -> None:
    """The delete waits for the last save, the request waits for nobody."""
    world.run_job()
    old = world.bid.name
    world.deafen()
    world.hosts[0].notice()
    world.drain()

    assert [old, world.bid.name] == list(world.slices.names)
    assert world.bid.name != old


def test_a_slice_that_had_notice_is_deleted_when_its_hosts_have_flushed(world: World) -> None:
    """Nothing left to save, nothing to wait for."""
    world.run_job()
    old = world.bid.name
    world.hosts[0].notice()
    world.drain()
    world.tick()

    assert old not in world.slices.names


def test_a_slice_that_had_notice_is_deleted_at_last_whatever_its_hosts_do(world: World) -> None:
    """A save that takes too long is cut off."""
    world.run_job(grace_s=600.0)
    old = world.bid.name
    world.deafen()
    world.hosts[0].notice()
    world.ticks(world.policy.notice_s - 2.0)
    assert old in world.slices.names
    world.ticks(5.0)

    assert old not in world.slices.names


def test_a_slice_deleted_by_hand_is_replaced(world: World) -> None:
    """The cause is its deletion, and the next attempt waits until it is surely gone."""
    world.run_job()
    world.slices.vanish(world.bid.name)
    world.tick_until(world.runs_attempt(1))

    assert Cause.DELETED is world.attempts()[0].cause
    assert 2 == world.slice().generation


def test_a_zone_that_does_not_answer_loses_nothing(world: World) -> None:
    """Not seen is not absent."""
    world.run_job()
    world.slices.unreachable = {ZONE}
    world.ticks(100.0)

    assert Stage.RUNNING is world.job().stage
    assert 1 == world.slice().generation
    assert [world.bid.name] == list(world.slices.names)


def test_nothing_is_concluded_in_a_zone_that_does_not_answer(world: World) -> None:
    """Even what is gone is not missed before the zone is listed as a whole."""
    world.run_job()
    world.slices.unreachable = {ZONE}
    world.slices.vanish(world.bid.name)
    world.ticks(5.0)
    assert Stage.RUNNING is world.job().stage
    world.slices.unreachable = set()
    world.tick()

    assert Stage.RECOVERING is world.job().stage


def test_a_listing_that_fails_loses_nothing(world: World) -> None:
    """An error says nothing about a slice."""
    world.run_job()
    world.slices.fail_next("list", Unavailable("no answer"), count=50)
    world.ticks(40.0)

    assert Stage.RUNNING is world.job().stage
    assert 1 == world.slice().generation


def test_a_slice_that_cannot_be_looked_at_hides_no_other(world: World) -> None:
    """One whose request nobody can read stands before one that was lost."""
    world.slices.slow_creates = True
    world.submit(name="a-first")
    world.slices.slow_creates = False
    world.run_job(OTHER_JOB)
    world.slices.fail_next("get", Unavailable("no answer"), count=1000)
    (lost,) = world.slices.names
    world.slices.preempt(lost)
    world.tick()

    assert Stage.RECOVERING is world.job(OTHER_JOB).stage
    assert Stage.PROVISIONING is world.job().stage


def test_a_node_stopped_by_the_service_is_lost(world: World) -> None:
    """TERMINATED is as gone as PREEMPTED."""
    world.run_job()
    world.slices.set_node(world.bid.name, state="TERMINATED")
    world.tick_until(world.runs_attempt(1))

    assert 2 == world.slice().generation
    assert Cause.PREEMPTED is world.attempts()[0].cause


def test_a_budget_of_preemptions_ends(world: World) -> None:
    """The second loss is one too many."""
    world.run_job(budgets={"preemptions": 1})
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    world.slices.preempt(world.bid.name)
    world.tick()

    assert Stage.FAILED is world.job().stage
    assert "preempted: preemption budget used up (1 of 1)" == world.job().reason
    world.tick_until_quiet()


def test_the_checkpoint_of_a_lost_attempt_is_where_the_next_one_begins(world: World) -> None:
    """A resumed attempt knows its step, its run stays the same."""
    world.run_job()
    world.hosts[0].progress(130)
    world.hosts[0].checkpoint(100)
    world.drain()
    world.hosts[1].notice()
    world.tick_until(world.runs_attempt(1))

    first, second = world.attempts()
    assert (130, 100) == (first.last_step, first.checkpoint_step)
    assert (100, 1, 0) == (second.start_step, second.resumes, second.run)


def test_a_loss_during_the_preparation_costs_no_attempt(world: World) -> None:
    """A generation more, and the first attempt is still number 0."""
    world.gives = False
    world.submit()
    for host in world.give(world.bid.name):
        host.is_slow = True
    world.drain()
    assert Stage.PREPARING is world.job().stage
    world.slices.preempt(world.bid.name)
    world.gives = True
    world.tick_until(world.runs_attempt(0))

    assert 2 == world.slice().generation
    assert [0] == [attempt.number for attempt in world.attempts()]
    assert 0 == world.job().resumes
