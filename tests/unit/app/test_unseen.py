"""A slice that cannot be looked at is never lost by that; its owner is told when it lasts."""

from __future__ import annotations

import pytest
from pytest_mock import MockerFixture

from shared.app.unseen import UNSEEN
from shared.core.stages import Stage
from shared.errors import ControlPlaneError, NoAccess, OutOfTime, Unavailable
from tests.unit.app.world import OTHER_JOB, ZONE, World

NEWS = {"SliceUnknown", "SliceSeen"}


def news(world: World) -> list[str]:
    """What was told of being seen, in order."""
    return [event for event in world.events() if event in NEWS]


def unreachable(world: World, *, is_it: bool = True) -> None:
    """Let the zone not answer, or answer again."""
    world.slices.unreachable = {ZONE} if is_it else set()


def test_a_zone_that_does_not_answer_for_long_is_told_once_and_taken_back(world: World) -> None:
    """Not a tick early, and not again while it lasts."""
    world.run_job()
    unreachable(world)
    world.ticks(world.policy.unknown_s - 2.0)
    assert [] == news(world)
    world.ticks(60.0)
    assert ["SliceUnknown"] == news(world)
    assert "not seen in the cloud since 20" in world.job().summary
    unreachable(world, is_it=False)
    world.ticks(10.0)

    assert ["SliceUnknown", "SliceSeen"] == news(world)
    assert "not seen" not in world.job().summary
    assert (Stage.RUNNING, 1) == (world.job().stage, world.slice().generation)


@pytest.mark.parametrize("error", [Unavailable("no answer"), NoAccess("no right to list")])
def test_a_listing_that_fails_as_a_whole_sees_nothing(
    world: World, mocker: MockerFixture, error: ControlPlaneError
) -> None:
    """Whatever the error is."""
    world.run_job()
    mocker.patch.object(world.slices, "list", side_effect=error)
    world.ticks(world.policy.unknown_s + 5.0)

    assert ["SliceUnknown"] == news(world)
    assert 1 == world.slice().generation


def test_a_slice_that_is_not_listed_and_cannot_be_asked_for_is_told_alone(
    world: World, mocker: MockerFixture
) -> None:
    """Its zone answers, so the other one is seen."""
    world.slices.slow_creates = True
    world.submit()
    world.slices.slow_creates = False
    world.run_job(OTHER_JOB, name="other")
    mocker.patch.object(world.slices, "get", side_effect=Unavailable("no answer"))
    world.ticks(world.policy.unknown_s + 5.0)

    assert ["SliceUnknown"] == news(world)
    assert not NEWS & set(world.events(OTHER_JOB))
    assert "no answer" in world.story()
    assert Stage.PROVISIONING is world.job().stage


def test_a_slice_is_not_unseen_for_longer_than_it_is_asked_for(world: World) -> None:
    """Its zone may have been dark for days."""
    world.run_job(OTHER_JOB, name="other")
    unreachable(world)
    world.ticks(world.policy.unknown_s - 20.0)
    world.gives = False
    world.submit()
    world.ticks(world.policy.unknown_s - 20.0)

    assert [] == news(world)
    assert "SliceUnknown" in world.events(OTHER_JOB)


def test_what_is_seen_now_and_then_is_seen(world: World) -> None:
    """The time begins anew with each look."""
    world.run_job()
    for _ in range(3):
        unreachable(world)
        world.ticks(world.policy.unknown_s - 10.0)
        unreachable(world, is_it=False)
        world.tick()

    assert [] == news(world)


def test_while_all_is_seen_nothing_is_written(world: World, mocker: MockerFixture) -> None:
    """And an outage writes when it begins and when it ends."""
    world.run_job()
    world.ticks(3.0)
    assert world.store.get(UNSEEN) is None
    unreachable(world)
    world.ticks(2.0)
    token = world.fields(UNSEEN)
    commits = mocker.spy(world.store, "commit")
    world.ticks(5.0)

    paths = [write.path for call in commits.call_args_list for write in call.args[0]]
    assert UNSEEN not in paths
    assert token["summary"] == f"not seen: {ZONE}"


def test_a_slice_that_nobody_had_time_to_look_at_is_as_unseen_as_before(
    world: World, mocker: MockerFixture
) -> None:
    """A tick that runs out of time must not begin its wait anew."""
    world.run_job()
    world.slices.vanish(world.bid.name)
    mocker.patch.object(world.slices, "get", side_effect=Unavailable("no answer"))
    world.ticks(5.0)
    before = world.fields(UNSEEN)
    mocker.patch("shared.app.health_check._observe_slice", side_effect=OutOfTime("the time is up"))
    world.ticks(2.0)

    assert before == world.fields(UNSEEN)
