"""Snapshots come from machines that run users' programs: believed only when they prove it."""

import json

import pytest
from pytest_mock import MockerFixture

from shared.core.mandates import attempt_token, bid_token
from shared.core.stages import Stage
from shared.errors import Unavailable
from shared.ports import Fields, Message
from tests.agents import Host, forged
from tests.unit.app.records import JOB
from tests.unit.app.world import World

UID, SECRET = "uid00001", b"a secret"


def host_fields(world: World, host: int = 0) -> Fields:
    """What is stored of a host of the first bid."""
    return world.fields(f"slices/digits-1/hosts/g1-b0-{host}")


def tokens_for(generation: int, *, uid: str = UID, attempt: int = 0) -> dict[str, str]:
    """Sign as an agent of some generation would."""
    return {
        "bid": bid_token(SECRET, uid, generation, "0"),
        "attempt": attempt_token(SECRET, JOB, attempt),
    }


def say(world: World, **changes: object) -> None:
    """Publish what host 0 says, with changes, as the newest it said."""
    world.bus.publish("reports", [forged(world.hosts[0].snapshot(), sequence=999, **changes)])
    for delivery in world._pull():
        world.deliver(delivery)


def test_a_snapshot_with_a_wrong_bid_token_is_parked(world: World) -> None:
    """Nothing it says is believed."""
    world.run_job()
    before = host_fields(world)
    say(world, tokens={**tokens_for(1), "bid": "00"}, notice="preempted")

    assert before == host_fields(world)
    (parked,) = world.all("parked")
    assert "snapshot: the bid token does not match" == parked["reason"]
    assert Stage.RUNNING is world.job().stage


def test_a_snapshot_with_a_wrong_attempt_token_is_parked(world: World) -> None:
    """One attempt cannot speak for another."""
    world.run_job()
    before = host_fields(world)
    say(world, tokens={**tokens_for(1), "attempt": attempt_token(SECRET, JOB, 1)})

    assert before == host_fields(world)
    (parked,) = world.all("parked")
    assert "snapshot: the attempt token does not match" == parked["reason"]


def test_a_snapshot_of_a_generation_to_come_is_parked(world: World) -> None:
    """A number that was never committed is a bug or a forgery."""
    world.run_job()
    say(world, generation=2, tokens=tokens_for(2))

    (parked,) = world.all("parked")
    assert "digits-1 has no generation 2 yet" == parked["reason"]
    assert 2 == len(world.all("slices/digits-1/hosts"))


def test_a_snapshot_of_an_earlier_slice_of_that_name_is_dropped(world: World) -> None:
    """Names repeat, uids do not."""
    world.run_job()
    before = host_fields(world)
    tokens = tokens_for(1, uid="old00001")
    say(world, slice_uid="old00001", notice="preempted", tokens=tokens)

    assert before == host_fields(world)
    assert [] == world.all("parked")
    assert Stage.RUNNING is world.job().stage


def test_a_snapshot_of_an_unknown_slice_is_dropped(world: World) -> None:
    """It may have been forgotten long ago."""
    world.run_job()
    say(world, slice="elsewhere", tokens=tokens_for(1))

    assert [] == world.all("slices/elsewhere/hosts")
    assert [] == world.all("parked")


def test_an_older_snapshot_of_the_same_boot_is_dropped(world: World) -> None:
    """The bus keeps no order."""
    world.run_job()
    old = world.hosts[0].snapshot()
    world.hosts[0].progress(7)
    world.tick()
    assert {"step": 7, "total": None, "metrics": {}} == host_fields(world)["progress"]
    world.publish("reports", old)

    assert {"step": 7, "total": None, "metrics": {}} == host_fields(world)["progress"]


def test_a_snapshot_of_an_earlier_boot_that_was_published_earlier_is_dropped(world: World) -> None:
    """Boots have no order, so the time of publishing decides."""
    world.run_job()
    old = world.hosts[0].snapshot()
    world.bus.publish("reports", [old])
    (late,) = world.bus.pull("report")
    world.tick()
    world.hosts[0].reboot()
    world.tick()
    world.deliver(late)

    assert "host-0-boot-2" == host_fields(world)["boot"]


def test_a_message_that_is_no_snapshot_is_parked_once(world: World) -> None:
    """However often it comes."""
    world.run_job()
    world.bus.publish("reports", [Message(b"{", {"kind": "snapshot"})])
    (delivery,) = [each for each in world.bus.pull("report", limit=9) if each.message.data == b"{"]
    world.deliver(delivery)
    world.deliver(delivery)

    (parked,) = world.all("parked")
    assert "report" == parked["source"]


def test_fields_of_a_newer_agent_are_ignored(world: World) -> None:
    """Agents live for weeks, and some are ahead."""
    world.run_job()
    say(world, weather="fine", tokens=tokens_for(1), problem="none to speak of")

    assert "none to speak of" == host_fields(world)["problem"]


def test_a_late_report_of_a_lost_attempt_still_says_how_far_it_came(world: World) -> None:
    """It changes what is known of the attempt, never the stage."""
    world.run_job()
    old = world.hosts[0]
    world.slices.preempt(world.bid.name)
    world.tick()
    assert Stage.RECOVERING is world.job().stage
    words = json.loads(old.snapshot().data)
    late = forged(old.snapshot(), sequence=words["sequence"] + 1, progress={"step": 77})
    world.publish("reports", late)
    world.drain()
    world.tick()

    assert 77 == world.attempts()[0].last_step
    assert Stage.SUCCEEDED is not world.job().stage


def _ends(host: Host) -> None:
    host.finish(1)


def _is_told(host: Host) -> None:
    host.notice()


@pytest.mark.parametrize("happens", [_ends, _is_told])
def test_a_snapshot_whose_wake_was_lost_wakes_when_it_comes_again(
    world: World, mocker: MockerFixture, happens: object
) -> None:
    """The function died between its commit and the publish; nobody waits for the tick."""
    assert callable(happens)
    world.run_job()
    happens(world.hosts[0])
    world.bus.publish("reports", [world.hosts[0].snapshot()])
    (delivery,) = world.bus.pull("report")
    publish = mocker.patch.object(world.bus, "publish", side_effect=Unavailable("died here"))
    assert world.handle(delivery).retry
    mocker.stopall()
    before = host_fields(world)
    assert publish.called

    published = mocker.spy(world.bus, "publish")
    assert not world.handle(delivery).retry

    assert before == host_fields(world)
    assert [before["wakes"]] == [call.args[0] for call in published.call_args_list]


def test_a_snapshot_that_woke_nobody_wakes_nobody_when_it_comes_again(
    world: World, mocker: MockerFixture
) -> None:
    """Nor does one that is older than what is known."""
    world.run_job()
    old = world.hosts[1].snapshot()
    world.bus.publish("reports", [old, forged(old, sequence=999)])
    first, quiet = world.bus.pull("report", limit=2)
    world.deliver(first)
    world.handle(quiet)
    published = mocker.spy(world.bus, "publish")
    world.handle(quiet)
    world.handle(first)

    assert "" == host_fields(world, 1)["wakes"]
    assert [] == published.call_args_list


def test_a_snapshot_that_a_newer_one_overtook_wakes_nobody(
    world: World, mocker: MockerFixture
) -> None:
    """What woke was another one."""
    world.run_job()
    old = world.hosts[0].snapshot()
    world.hosts[0].notice()
    world.bus.publish("reports", [old])
    (late,) = world.bus.pull("report")
    world.bus.publish("reports", [forged(world.hosts[0].snapshot(), sequence=999)])
    (newer,) = world.bus.pull("report")
    world.handle(newer)
    published = mocker.spy(world.bus, "publish")
    world.handle(late)

    assert "" != host_fields(world)["wakes"]
    assert [] == published.call_args_list
