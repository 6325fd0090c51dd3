"""Storm control: how many requests there are, in which order, and what stops them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from shared.app.troubles import TROUBLES
from shared.core.policy import EMBEDDED
from shared.core.slices import BidStage
from shared.core.stages import Stage
from shared.errors import QuotaExceeded, RateLimited, Unavailable
from tests.unit.app.storms import Watched, job_of
from tests.unit.app.world import World

TURN = "waits for its turn: 2 requests a minute are made"


@pytest.fixture
def calm(world: World) -> World:
    """A cloud that grants nothing, a second after a minute began."""
    world.gives = False
    world.clock.advance(61.0 - world.clock.now().second)
    return world


# --- The budget ---------------------------------------------------------------------------------


def test_a_minute_has_no_more_requests_than_its_budget(calm: World) -> None:
    """The others wait and say so; they go on in the next minutes by themselves."""
    watched = Watched(calm, creates_per_minute=2)
    names = watched.submit(5)
    assert names[:2] == watched.names
    assert TURN == watched.detail_of(4)
    assert TURN in calm.job(job_of(4)).summary

    for _ in range(3):
        watched.to_next_minute()

    assert [2, 2, 1] == watched.by_minute
    assert names == watched.names


def test_priority_goes_before_age(calm: World) -> None:
    """Among those that wait."""
    watched = Watched(calm, creates_per_minute=2)
    names = watched.submit(6, job3=-1, job4=10, job5=10)
    for _ in range(3):
        watched.to_next_minute()

    assert [names[number] for number in (0, 1, 4, 5, 2, 3)] == watched.names


def test_who_comes_fresh_does_not_overtake_those_who_wait(calm: World) -> None:
    """Unless it counts more."""
    watched = Watched(calm, creates_per_minute=2)
    watched.submit(4)
    calm.clock.advance(60.0)
    fresh, urgent = job_of(8), job_of(9)
    calm.submit(fresh)
    calm.submit(urgent, priority=1)

    assert [watched.bid_of(9)] == watched.names[2:]
    assert TURN == watched.detail_of(8)


def test_one_that_missed_its_turn_holds_up_nobody_while_there_is_room(calm: World) -> None:
    """A place is kept for it, and the others go on."""
    watched = Watched(calm, creates_per_minute=4)
    watched.fail(RateLimited("qps/create per minute"))
    calm.submit(job_of(0))
    calm.clock.advance(calm.policy.intent_due_s + 1.0)
    for number in (1, 2, 3):
        calm.submit(job_of(number))
    assert [watched.bid_of(number) for number in (0, 1, 2)] == watched.names
    assert watched.detail_of(3).startswith("waits for its turn")
    calm.tick(0.0)

    assert watched.bid_of(0) == watched.names[-1]


def test_once_nobody_waits_the_rest_of_a_minute_is_for_everybody(calm: World) -> None:
    """No place stays empty while somebody could use it."""
    watched = Watched(calm, creates_per_minute=3)
    watched.submit(4)
    watched.to_next_minute()
    calm.submit(job_of(8))
    calm.submit(job_of(9))

    assert [3, 3] == watched.by_minute


def test_messages_that_come_twice_in_any_order_ask_no_more(world: World) -> None:
    """A storm of losses, each told several times."""
    watched = Watched(world, creates_per_minute=30)
    for number in range(6):
        world.run_job(job_of(number))
    watched = Watched(world, creates_per_minute=2)
    world.gives = False
    world.chance = Random(4)
    for name in world.slices.names:
        world.slices.preempt(name)
    for _ in range(50):
        world.tick(5.0)

    assert max(watched.by_minute) <= 2
    assert 6 == len(set(watched.names))
    assert 6 == len(watched.names)


def test_what_waits_costs_no_look_a_minute(calm: World) -> None:
    """It is called when its turn comes, and looks by itself far more rarely."""
    watched = Watched(calm, creates_per_minute=1)
    watched.submit(2)
    waiting = calm.slice(job_of(1))

    assert waiting.turn
    assert waiting.due_at is not None
    least = timedelta(seconds=calm.policy.retry_s_max - 1.0)
    assert waiting.due_at - calm.clock.now() >= least
    watched.to_next_minute()
    assert "" == calm.slice(job_of(1)).turn


def test_the_first_are_called_when_a_minute_begins(tmp_path: Path) -> None:
    """Long before any of them would look by itself."""
    world = World(tmp_path, policy=replace(EMBEDDED, retry_s_max=3600.0))
    world.gives = False
    watched = Watched(world, creates_per_minute=2)
    names = watched.submit(5)
    watched.to_next_minute()
    watched.to_next_minute()
    world.close()

    assert names == watched.names


def test_who_is_called_and_does_not_come_is_called_again(calm: World) -> None:
    """Its message may be lost."""
    watched = Watched(calm, creates_per_minute=1)
    names = watched.submit(2)
    calm.loses = lambda _: True
    watched.to_next_minute()
    assert names[:1] == watched.names
    calm.loses = lambda _: False
    watched.to_next_minute()

    assert names == watched.names


def test_a_job_that_is_stopped_leaves_the_line(calm: World) -> None:
    """And nothing was ever asked for it."""
    watched = Watched(calm, creates_per_minute=1)
    names = watched.submit(3)
    calm.stop(job_of(1))
    for _ in range(3):
        watched.to_next_minute()

    assert [names[0], names[2]] == watched.names
    assert Stage.CANCELLED is calm.job(job_of(1)).stage


# --- What the cloud says ------------------------------------------------------------------------


def test_too_many_requests_stop_everybody_for_a_while(calm: World) -> None:
    """Also those who had no answer yet."""
    watched = Watched(calm, creates_per_minute=60)
    watched.fail(RateLimited("qps/create per minute"))
    names = watched.submit(4)
    assert names[:1] == watched.names
    assert "qps/create" in watched.detail_of(0)
    assert "nothing is asked for until" in watched.detail_of(3)
    calm.tick_until(lambda: len(watched.names) >= 5)

    assert sorted(names) == sorted(watched.names[1:])
    waited = watched.asked[1][0] - watched.asked[0][0]
    assert waited >= timedelta(seconds=calm.policy.intent_due_s)


def test_refusals_that_go_on_are_told_and_so_is_their_end(calm: World) -> None:
    """Nobody gets a slice meanwhile, and no zone is to blame."""
    watched = Watched(calm, creates_per_minute=60)
    watched.fail(RateLimited("qps/create per minute"), count=1000)
    watched.submit(2)
    calm.ticks(calm.policy.degraded_s + 10.0)
    known = calm.fields(TROUBLES)["known"]
    assert isinstance(known, dict)
    assert ["requests"] == list(known)
    told = "the cloud refuses all requests for slices: qps/create per minute"
    assert told == known["requests"]["text"]
    assert known["requests"]["told_at"] is not None

    watched.fail(RateLimited("qps/create per minute"), count=0)
    calm.tick_until(lambda: not calm.fields(TROUBLES)["known"])
    assert len(watched.names) > 2


def test_one_refusal_is_no_news(calm: World) -> None:
    """It is over before anybody could do anything, however long others wait for their turn."""
    watched = Watched(calm, creates_per_minute=2)
    watched.fail(RateLimited("qps/create per minute"))
    watched.submit(5)
    calm.ticks(calm.policy.degraded_s + 10.0)

    assert {} == calm.fields(TROUBLES)["known"]


def test_a_quota_stops_its_zone_and_no_other(calm: World) -> None:
    """What is used up there may be free elsewhere."""
    watched = Watched(calm, creates_per_minute=60)
    watched.fail(QuotaExceeded("quota limit of v5p in us-east5-a"))
    there: dict[str, Any] = {"accelerator_type": "v5p-16", "zones": ["us-east5-a"]}
    calm.submit(job_of(0), **there)
    calm.submit(job_of(1), **there)
    calm.submit(job_of(2), accelerator_type="v5p-16", zones=["us-central1-a"])

    assert [watched.bid_of(0), watched.bid_of(2)] == watched.names
    assert "quota limit of v5p" in watched.detail_of(1)
    calm.tick_until(lambda: len(watched.names) == 4)
    assert {watched.bid_of(0), watched.bid_of(1)} == set(watched.names[2:])


def test_a_quota_that_its_own_loss_still_holds_stops_nobody_else(world: World) -> None:
    """The old generation is being deleted: that says nothing about the zone."""
    watched = Watched(world, creates_per_minute=60)
    world.run_job(job_of(0))
    world.slices.slow_deletes = True
    watched.fail(QuotaExceeded("quota limit of v4"))
    world.slices.preempt(watched.names[0])
    world.tick()
    assert "quota limit of v4" == watched.detail_of(0)
    world.submit(job_of(1))

    assert watched.bid_of(1) in watched.names


def test_a_request_that_fails_again_and_again_is_made_ever_more_rarely(calm: World) -> None:
    """Up to a bound, and never given up."""
    watched = Watched(calm, creates_per_minute=60)
    watched.fail(Unavailable("try later"), count=10_000)
    calm.submit(job_of(0))
    calm.ticks(120.0)
    gaps = [
        (later - earlier).total_seconds()
        for (earlier, _), (later, _) in zip(watched.asked, watched.asked[1:], strict=False)
    ]

    assert gaps[0] < gaps[1] < gaps[2]
    assert max(gaps) <= calm.policy.retry_s_max + 1.0
    assert 6 <= len(gaps) <= 10
    assert BidStage.INTENDED is calm.slice(job_of(0)).generations[-1].bids[-1].stage


def test_a_delete_that_fails_again_and_again_is_made_ever_more_rarely(world: World) -> None:
    """Up to a bound, and never given up; then it is done."""
    world.run_job()
    world.slices.fail_next("delete", Unavailable("try later"), count=10_000)
    before = world.slices.calls["delete"]
    world.stop(kill=True)
    world.ticks(60.0, every_s=0.5)
    first_minute = world.slices.calls["delete"] - before
    world.ticks(60.0, every_s=0.5)
    second_minute = world.slices.calls["delete"] - before - first_minute

    assert 5 <= first_minute <= 9
    assert 3 <= second_minute <= 5
    world.slices.fail_next("delete", Unavailable("never"), count=0)
    world.tick_until_quiet()
