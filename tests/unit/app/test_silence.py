"""A host that says nothing is lost only while others are known to be heard."""

import json

from pytest_mock import MockerFixture

from shared.app.messages import wake_launch
from shared.app.silence import SILENCE
from shared.app.troubles import TROUBLES
from shared.core.causes import Cause
from shared.core.stages import Stage
from shared.ports import Delivery
from shared.topology import Topic
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, World


def is_report(delivery: Delivery) -> bool:
    """Whatever travels on the way of the agents."""
    return delivery.subscription == "report"


def warm_up(world: World) -> None:
    """Run a job until canaries have been fresh for long enough."""
    world.run_job()
    world.ticks(world.policy.canary_s + 5.0)


def test_a_silent_host_is_lost_while_others_report(world: World) -> None:
    """Its slice is replaced, and the new attempt starts when the old node is gone."""
    warm_up(world)
    world.hosts[1].is_mute = True
    world.ticks(world.policy.silent_host_s - 3.0)
    assert 1 == world.slice().generation
    world.tick_until(world.runs_attempt(1))

    assert Cause.HOST_LOST is world.attempts()[0].cause
    assert 2 == world.slice().generation


def test_a_whole_slice_may_be_silent_for_longer(world: World) -> None:
    """One host is a broken host; all of them may be a broken network."""
    warm_up(world)
    for host in world.hosts:
        host.is_mute = True
    world.ticks(world.policy.silent_slice_s - 3.0)
    assert 1 == world.slice().generation
    world.tick_until(world.runs_attempt(1))

    assert Cause.HOST_LOST is world.attempts()[0].cause


def test_silence_means_nothing_while_reports_do_not_come_through(world: World) -> None:
    """The tick's own canaries are lost as well: it is us."""
    warm_up(world)
    world.loses = is_report
    world.ticks(100.0)

    assert Stage.RUNNING is world.job().stage
    assert 1 == world.slice().generation


def test_silence_counts_only_after_reports_have_come_through_for_a_while(world: World) -> None:
    """After an outage every host is given time to speak."""
    warm_up(world)
    world.loses = is_report
    world.ticks(100.0)
    world.loses = lambda delivery: (
        is_report(delivery)
        and b"canary" not in json.dumps(dict(delivery.message.attributes)).encode()
    )
    world.ticks(world.policy.canary_s - 3.0)
    world.loses = lambda _: False
    world.ticks(60.0)

    assert Stage.RUNNING is world.job().stage
    assert 1 == world.slice().generation


def test_a_host_that_reports_and_cannot_read_is_not_lost(world: World) -> None:
    """It says what troubles it, and its lease is its own affair."""
    warm_up(world)
    world.hosts[1].is_cut_off = True
    world.ticks(60.0)

    assert 1 == world.slice().generation


def test_an_attempt_that_is_cut_off_from_its_mandate_ends_itself(world: World) -> None:
    """Its lease runs out; the others are stopped, and the next attempt starts."""
    warm_up(world)
    cut_off = world.hosts[1]
    cut_off.is_cut_off = True
    world.tick_until(lambda: cut_off.runs is None, limit_s=world.policy.lease_s + 5.0)
    world.drain()

    assert Cause.CUT_OFF is world.attempts()[0].cause
    assert 1 == world.attempts()[0].cause_host


def two_jobs(world: World) -> None:
    """Run two jobs, four hosts in all, until silence may be judged."""
    world.run_job()
    world.run_job(OTHER_JOB, name="other")
    world.ticks(world.policy.canary_s + 5.0)


def test_when_most_hosts_are_silent_together_nobody_is_given_up(world: World) -> None:
    """Something between us is broken: three of four, of both slices, while canaries come."""
    two_jobs(world)
    for host in world.farm.living[1:]:
        host.is_mute = True
    world.ticks(world.policy.silent_slice_s + 20.0)

    assert [1, 1] == [world.slice(job).generation for job in (JOB, OTHER_JOB)]


def test_mass_silence_is_told_when_it_lasts_and_when_it_is_over(world: World) -> None:
    """Nobody is given up, so somebody has to look."""
    two_jobs(world)
    silent = world.farm.living[1:]
    for host in silent:
        host.is_mute = True
    world.ticks(world.policy.silent_host_s + world.policy.degraded_s + 10.0)
    known = world.fields(TROUBLES)["known"]
    assert isinstance(known, dict)
    assert "3 of 4 hosts are silent, in 2 slices: nobody is given up" == known["hosts"]["text"]
    assert known["hosts"]["told_at"] is not None
    for host in silent:
        host.is_mute = False
    world.farm.each(lambda host: setattr(host, "_wants_report", True))
    world.ticks(30.0)

    assert {} == world.fields(TROUBLES)["known"]


def test_one_silent_slice_of_two_is_replaced(world: World) -> None:
    """Half is not most: the other one is heard."""
    two_jobs(world)
    for host in world.farm.of(world.bid.name):
        host.is_mute = True
    world.tick_until(world.runs_attempt(1))

    assert [2, 1] == [world.slice(job).generation for job in (JOB, OTHER_JOB)]


def test_mass_silence_is_counted_once_a_tick_and_not_once_a_slice(
    world: World, mocker: MockerFixture
) -> None:
    """A thousand silent slices would read a thousand slices each."""
    two_jobs(world)
    for host in world.farm.living[1:]:
        host.is_mute = True
    world.ticks(world.policy.silent_host_s + 5.0)
    asked = mocker.spy(world.store, "query")
    for _ in range(10):
        world.publish(Topic.LAUNCHES, wake_launch(world.slice(OTHER_JOB).name, "look").message())

    assert 1 >= sum(call.args[0].collection == "slices" for call in asked.call_args_list)
    assert "3 of 4 hosts are silent, in 2 slices" == world.fields(SILENCE)["summary"]
