"""What one owner may have at once: asked at the order, and again before anything is created."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shared.app import caps
from shared.core.limits import Limits
from shared.core.orders import Verdict
from shared.core.stages import Stage
from shared.ports import Message
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, World, spec_of

THIRD = "job000000003"


def bound(world: World, **limits: int) -> None:
    """Set caps."""
    world.app = replace(world.app, limits=Limits(**limits))


@pytest.mark.parametrize(
    "limits, reason",
    [
        pytest.param(
            {"slices_per_owner": 1},
            "ada may have 1 slice at once and has 1 (digits-1: 8)",
            id="slices",
        ),
        pytest.param(
            {"chips_per_owner": 15},
            "ada may have 15 chips at once and has 8 (digits-1: 8), and v4-16 needs 8",
            id="chips",
        ),
    ],
)
def test_a_job_too_many_is_refused(world: World, limits: dict[str, int], reason: str) -> None:
    """No slice, no job, no number; and one fits again once another is over."""
    bound(world, **limits)
    world.run_job()
    outcome = world.submit(OTHER_JOB)
    assert Verdict.REFUSED is outcome.outcome
    assert f"{reason}: stop a job, or ask an admin for a higher cap" == outcome.reason
    assert 1 == len(world.all("slices"))
    world.finish_job()

    assert Verdict.ACCEPTED is world.submit(OTHER_JOB).outcome


def test_another_owner_has_a_cap_of_their_own(world: World) -> None:
    """Nobody uses up what others may have."""
    bound(world, slices_per_owner=1)
    world.run_job()
    args = {"job": OTHER_JOB, "spec": spec_of(), "slice_uid": "uid00002"}
    order = {"version": 1, "id": "bobs", "kind": "submit", "owner": "bob", "args": args}
    world.publish("commands", Message(json.dumps(order).encode()))

    assert Verdict.ACCEPTED is world.outcome("bobs").outcome


def test_a_slice_that_is_there_may_be_used_again(world: World) -> None:
    """It counts once."""
    bound(world, slices_per_owner=1)
    world.run_job(hold_s=600.0)
    world.finish_job()
    held = world.job().slice

    assert Verdict.ACCEPTED is world.submit(OTHER_JOB, place=held).outcome


def test_a_resume_counts_like_a_submit(world: World) -> None:
    """When it needs a new slice."""
    bound(world, slices_per_owner=1)
    world.run_job()
    world.stop(kill=True)
    world.tick_until_quiet()
    world.run_job(OTHER_JOB)

    assert "ada may have 1 slice at once" in world.again().reason


def test_of_two_orders_at_the_same_time_one_waits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both passed the first question; before the create the older one goes first."""
    bound(world, slices_per_owner=1)
    world.gives = False
    with monkeypatch.context() as patched:
        patched.setattr(caps, "check", lambda *_: None)  # neither saw the other
        world.submit()
        world.clock.advance(0.001)
        world.submit(OTHER_JOB)
    world.ticks(30.0)
    assert 1 == world.slices.calls["create"]
    assert "ada may have 1 slice at once and has 1 (digits-1: 8)" in world.job(OTHER_JOB).summary
    world.stop(kill=True)
    world.gives = True
    world.tick_until(world.runs_attempt(0, OTHER_JOB))

    assert Stage.CANCELLED is world.job().stage


def test_a_lower_cap_ends_nothing_that_runs(world: World) -> None:
    """But what is lost waits until it fits."""
    world.run_job()
    world.clock.advance(1.0)
    world.run_job(OTHER_JOB)
    bound(world, slices_per_owner=1)
    world.ticks(30.0)
    assert [Stage.RUNNING] * 2 == [world.job(job).stage for job in (JOB, OTHER_JOB)]
    world.slices.preempt(world.bid.name)
    world.ticks(30.0)
    assert Stage.RECOVERING is world.job().stage
    assert "ada may have 1 slice at once" in world.job().summary
    world.finish_job()
    world.tick_until(world.runs_attempt(1))

    assert Stage.SUCCEEDED is world.job(OTHER_JOB).stage


def test_nothing_is_counted_where_nothing_is_capped(world: World) -> None:
    """An owner's slices are not even read."""
    for job in (JOB, OTHER_JOB, THIRD):
        assert Verdict.ACCEPTED is world.submit(job).outcome
