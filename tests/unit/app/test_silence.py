"""A host that says nothing is lost only while others are known to be heard."""

import json

import pytest
from pytest_mock import MockerFixture

from shared.app.load import load
from shared.app.messages import wake_launch
from shared.app.silence import SILENCE
from shared.app.troubles import TROUBLES
from shared.core.causes import Cause
from shared.core.stages import Stage
from shared.errors import Unavailable
from shared.ports import Delivery, Replace
from shared.topology import Topic
from tests.agents import forged
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


def test_mass_silence_holds_before_a_slice_is_claimed_too(world: World) -> None:
    """The last boot, the claim and the judgement may be one decision."""
    world.run_job("job000000003", name="third")
    two_jobs(world)
    for host in world.farm.living:
        host.is_mute = True
    world.ticks(world.policy.silent_host_s + 1.0)
    path = f"slices/{world.slice().name}"
    document = world.store.get(path)
    assert document is not None
    generations = document.fields["generations"]
    assert isinstance(generations, list)
    unclaimed = {**document.fields, "generations": [{**generations[0], "claimed": ""}]}
    world.store.commit([Replace(path, unclaimed, document.token)])

    loaded = load(world.app, world.slice().name)

    assert loaded is not None
    assert not loaded.situation.can_judge_silence


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


def cut_from_the_bus(world: World) -> None:
    """Let no host of the first job publish any more; they reach storage as ever."""
    for host in world.hosts:
        host.cannot_publish = True


def test_hosts_that_reach_storage_alone_are_heard_before_they_are_judged(world: World) -> None:
    """Whatever is wrong with the way of reports, it is not the slice that is broken."""
    warm_up(world)
    cut_from_the_bus(world)
    world.ticks(3 * world.policy.silent_slice_s)

    assert Stage.RUNNING is world.job().stage
    assert 1 == world.slice().generation


def test_what_hosts_left_in_storage_counts_as_if_it_had_been_published(world: World) -> None:
    """The job ends by it."""
    warm_up(world)
    cut_from_the_bus(world)
    world.farm.each(lambda host: host.finish(0))
    world.tick_until(world.stands_at(Stage.SUCCEEDED), limit_s=2 * world.policy.silent_host_s)

    assert 1 == len(world.attempts())


def test_a_slice_whose_hosts_could_never_publish_is_no_bad_node(world: World) -> None:
    """They booted, and say so where they can."""
    world.gives = False
    world.submit()
    for host in world.give(world.bid.name):
        host.cannot_publish = True
    world.tick_until(world.runs_attempt(0), limit_s=2 * world.policy.boot_s, every_s=2.0)

    assert 1 == len(world.generation().bids)


def test_what_a_host_left_before_it_died_saves_it_once(world: World) -> None:
    """Nothing newer comes after it."""
    warm_up(world)
    dead = world.hosts[1]
    dead.leave_beside_mandate()
    dead.is_mute = True
    world.tick_until(world.runs_attempt(1), limit_s=4 * world.policy.silent_host_s)

    assert Cause.HOST_LOST is world.attempts()[0].cause


def left_by(host: int) -> str:
    """Name what a host leaves beside its mandate."""
    return f"control/mandates/uid00001/g1.host-0-{host}.json"


FORGED = [
    pytest.param({"tokens": {"bid": "00", "attempt": None}}, id="without the tokens"),
    pytest.param({"host": 0}, id="in the place of another host"),
    pytest.param({"bid": "1"}, id="in the place of another request's host"),
    pytest.param({"generation": 2}, id="of another generation"),
    pytest.param({"slice": "other-1"}, id="of another slice"),
    pytest.param({"boot": 3}, id="of another form"),
]


@pytest.mark.parametrize("changes", FORGED)
def test_what_is_no_report_of_the_silent_host_saves_nobody(
    world: World, changes: dict[str, object]
) -> None:
    """Whoever may write there may not speak for a host."""
    warm_up(world)
    quiet = world.hosts[1]
    quiet.is_mute = True
    said = forged(quiet.snapshot(), **{"sequence": 999, "notice": "preempted", **changes})
    world.blobs.put(left_by(1), said.data)
    world.tick_until(lambda: world.slice().generation == 2)

    assert Cause.HOST_LOST is world.attempts()[0].cause
    assert [] == world.all("parked")


def test_nobody_is_judged_while_storage_cannot_be_asked(world: World) -> None:
    """What was left there may be what saves them."""
    warm_up(world)
    world.hosts[1].is_mute = True
    world.blobs.plan.fail_next("list", Unavailable("storage does not answer"), count=1000)
    world.ticks(3 * world.policy.silent_slice_s)

    assert 1 == world.slice().generation


def test_storage_is_asked_only_when_somebody_is_silent(world: World, mocker: MockerFixture) -> None:
    """A look at a slice that is heard costs nothing more, one at a silent slice a single list."""
    warm_up(world)
    asked = mocker.spy(world.blobs, "list")
    world.publish(Topic.LAUNCHES, wake_launch(world.slice().name, "look").message())
    assert 0 == asked.call_count
    world.hosts[1].is_mute = True
    world.clock.advance(world.policy.silent_host_s + 1.0)
    world.publish(Topic.LAUNCHES, wake_launch(world.slice().name, "look").message())

    assert [mocker.call("control/mandates/uid00001/g1.host-")] == asked.call_args_list[:1]


def test_a_report_that_is_known_already_is_not_told_of_again_and_again(world: World) -> None:
    """A host said it and left it in storage as well: each look finds it once more."""
    warm_up(world)
    dead = world.hosts[1]
    said = forged(dead.snapshot(), sequence=999, phase="finished")
    world.publish(Topic.REPORTS, said)
    world.blobs.put(left_by(1), said.data)
    world.loses = is_report  # nobody can be judged, and the host stays unheard
    world.ticks(2 * world.policy.silent_slice_s)

    assert Stage.RUNNING is world.job().stage
    assert 1 == world.slice().generation
