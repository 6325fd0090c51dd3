"""recovery looks at the cloud when it is asked to: without a tick, and whoever asks."""

from __future__ import annotations

import pytest

from shared.app.messages import wake_recovery
from shared.core.causes import Cause
from shared.core.stages import Stage
from shared.errors import ControlPlaneError, InvalidRequest, NoAccess, Unavailable
from tests.agents import forged
from tests.audit_entries import tpu_entry
from tests.unit.app.audit_log import says
from tests.unit.app.world import World


@pytest.mark.parametrize("kind", ["nodes", "queuedResources"])
def test_a_delete_in_the_log_is_seen_without_a_tick(world: World, kind: str) -> None:
    """The entry says what was tried, the cloud what came of it."""
    world.run_job()
    listed = world.slices.calls["list"]
    entry = tpu_entry(world.bid.name, world.clock.now(), kind=kind)
    world.clock.advance(1.0)
    world.slices.vanish(world.bid.name)
    says(world, entry)

    assert (Stage.RECOVERING, 2) == (world.job().stage, world.slice().generation)
    assert Cause.DELETED is world.attempts()[0].cause
    assert listed == world.slices.calls["list"]


def test_a_delete_that_did_not_happen_loses_nothing(world: World) -> None:
    """It may have been refused; one read is what it costs."""
    world.run_job()
    asked = world.slices.calls["get"]
    says(world, tpu_entry(world.bid.name, world.clock.now()))

    assert Stage.RUNNING is world.job().stage
    assert asked + 1 == world.slices.calls["get"]


@pytest.mark.parametrize("error", [Unavailable("no answer"), InvalidRequest("400"), NoAccess("no")])
def test_a_look_that_gets_no_answer_says_nothing(world: World, error: ControlPlaneError) -> None:
    """The tick comes anyway."""
    world.run_job()
    world.slices.fail_next("get", error)
    says(world, tpu_entry(world.bid.name, world.clock.now()))

    assert Stage.RUNNING is world.job().stage
    assert [] == world.all("parked")


def test_a_bid_that_was_not_asked_for_yet_is_not_missed_by_a_look(world: World) -> None:
    """It is not there because nobody asked for it."""
    world.gives = False
    world.slices.fail_next("create", Unavailable("no answer"), count=100)
    world.submit()
    asked = world.slices.calls["get"]
    says(world, tpu_entry(world.bid.name, world.clock.now()))

    assert asked == world.slices.calls["get"]
    assert world.bid.absent_at is None


@pytest.mark.parametrize("look", [False, "true", 1, None])
def test_only_true_asks_for_a_look(world: World, look: object) -> None:
    """A claimed slice that is merely due is the tick's to look at."""
    world.run_job()
    asked = world.slices.calls["get"]
    message = wake_recovery(world.slice().name, "due").message()
    world.publish("preemptions", forged(message, look=look))

    assert asked == world.slices.calls["get"]


def test_a_forged_look_costs_one_read_of_each_bid(world: World) -> None:
    """However often it comes, nothing is concluded that is not so."""
    world.run_job()
    asked = world.slices.calls["get"]
    for _ in range(5):
        world.publish("preemptions", wake_recovery(world.slice().name, "", look=True).message())

    assert asked + 5 == world.slices.calls["get"]
    assert Stage.RUNNING is world.job().stage
