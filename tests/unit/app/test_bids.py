"""A generation is asked for until it is there: which errors mean what."""

from typing import Any

import pytest

from shared.core.slices import BidStage
from shared.core.stages import Stage
from shared.errors import (
    Busy,
    ControlPlaneError,
    InvalidRequest,
    NoAccess,
    QuotaExceeded,
    RateLimited,
    Stockout,
    Unavailable,
)
from tests.unit.app.world import World

ZONES = ("us-central1-a", "us-east1-d", "us-east5-a")
IN_ZONES: dict[str, Any] = {"accelerator_type": "v5p-16", "zones": list(ZONES)}


def zones_asked(world: World) -> list[str]:
    """The zones of all bids of the newest generation."""
    return [bid.zone for bid in world.slice().generations[-1].bids]


def test_a_node_whose_hosts_do_not_boot_is_given_up(world: World) -> None:
    """The next bid asks elsewhere, for the same generation."""
    world.gives = False
    world.submit(**IN_ZONES)
    first = world.bid.name
    world.slices.make_ready(first)
    world.farm.boot(first, hosts=1)
    world.ticks(world.policy.boot_s - 5.0)
    assert [first] == list(world.slices.names)
    world.gives = True
    world.tick_until(world.runs_attempt(0))

    assert list(ZONES[:2]) == zones_asked(world)
    assert 1 == world.slice().generation
    assert "BidFailed" in world.events()
    assert [world.bid.name] == list(world.slices.names)


def test_a_request_that_the_cloud_refuses_everywhere_fails_the_job(world: World) -> None:
    """Asking again would not help: the owner reads what the cloud said."""
    world.slices.fail_next("create", InvalidRequest("no such runtime version"))
    world.submit()

    assert Stage.FAILED is world.job().stage
    assert "no such runtime version" == world.job().reason
    assert not world.slice().wanted
    world.tick_until_quiet()


def test_a_zone_without_access_is_skipped(world: World) -> None:
    """Another zone may do."""
    world.slices.fail_next("create", NoAccess("this project may not use the zone"))
    world.submit(**IN_ZONES)
    world.tick_until(world.runs_attempt(0))

    assert list(ZONES[:2]) == zones_asked(world)


def test_a_stockout_moves_on_to_the_next_zone_after_a_pause(world: World) -> None:
    """Each zone is asked in turn, and never at once."""
    error = Stockout("there is no more capacity", zone=ZONES[0])
    world.slices.fail_next("create", error, count=4)
    world.submit(**IN_ZONES)
    assert 1 == world.slices.calls["create"]
    world.tick(0.5)
    assert 1 == world.slices.calls["create"]
    world.tick_until(world.runs_attempt(0))

    assert [*ZONES, *ZONES[:2]] == zones_asked(world)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(QuotaExceeded("no chips left"), id="quota"),
        pytest.param(Busy("the name is being deleted"), id="busy"),
        pytest.param(RateLimited("too many requests"), id="rate"),
        pytest.param(Unavailable("no answer"), id="unavailable"),
    ],
)
def test_an_error_that_will_pass_is_waited_for_in_place(
    world: World, error: ControlPlaneError
) -> None:
    """The same bid is asked for again, and the summary says why it is not there."""
    world.slices.fail_next("create", error, count=3)
    world.submit(**IN_ZONES)
    assert 1 == world.slices.calls["create"]
    assert str(error) in world.slice().summary
    world.tick_until(world.runs_attempt(0))

    assert list(ZONES[:1]) == zones_asked(world)
    assert 4 == world.slices.calls["create"]


def test_a_create_that_fails_is_tried_again_when_it_is_due_and_not_before(world: World) -> None:
    """A quota that is used up for a minute costs two dozen calls, not thousands."""
    world.slices.fail_next("create", QuotaExceeded("no chips left"), count=1000)
    world.submit()
    world.ticks(60.0)

    assert world.slices.calls["create"] <= 3 * 60.0 / world.policy.intent_due_s


def test_a_delete_that_fails_is_tried_again_now_and_then(world: World) -> None:
    """A request that is being suspended cannot be deleted yet."""
    world.run_job()
    world.gives = False
    world.slices.preempt(world.bid.name)
    world.ticks(60.0)

    assert world.slices.calls["delete"] <= 3 * 60.0


def test_a_create_whose_reply_was_lost_is_made_once(world: World) -> None:
    """The second one finds what the first one made."""
    world.slices.fail_next("create", Unavailable("no answer"), after_effect=True)
    world.submit()
    world.tick_until(world.runs_attempt(0))

    assert 1 == len(world.slices.names)
    assert ["0"] == [bid.id for bid in world.generation().bids]


def test_a_request_that_never_appears_is_replaced(world: World) -> None:
    """Accepted, and then nothing: another one is asked for."""
    world.slices.slow_creates = True
    world.submit()
    lost = world.bid.name
    assert BidStage.REQUESTED is world.bid.stage
    world.ticks(world.policy.late_create_s + 5.0)
    world.slices.slow_creates = False
    world.slices.finish_create(lost)
    world.tick_until(world.runs_attempt(0))
    world.ticks(60.0)

    assert [world.bid.name] == list(world.slices.names)
    assert world.bid.name != lost


def test_an_operation_that_fails_is_followed_by_another_bid(world: World) -> None:
    """Only the operation knows why nothing came to be."""
    world.slices.slow_creates = True
    world.submit(**IN_ZONES)
    world.slices.fail_operation(world.bid.name, "the image does not exist")
    world.slices.slow_creates = False
    world.tick_until(world.runs_attempt(0))

    assert list(ZONES[:2]) == zones_asked(world)
    assert "the image does not exist" in world.story()


def test_a_request_that_failed_before_it_was_ready_is_a_bad_node(world: World) -> None:
    """FAILED is followed by a bid in the next zone, not by a generation."""
    world.gives = False
    world.submit(**IN_ZONES)
    world.slices.set_state(world.bid.name, "FAILED", reason="internal error")
    world.gives = True
    world.tick_until(world.runs_attempt(0))

    assert list(ZONES[:2]) == zones_asked(world)
    assert 1 == world.slice().generation


def test_no_bid_is_created_before_its_mandate_is_written(world: World) -> None:
    """Hosts that boot must find what to obey."""
    world.blobs.plan.fail_next("put", Unavailable("no answer"), count=2)
    world.submit()
    assert 0 == world.slices.calls["create"]
    world.tick_until(world.runs_attempt(0))

    assert [world.bid.name] == list(world.slices.names)
