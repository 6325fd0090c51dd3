"""What is ours and wanted by nobody is deleted; everything else is left alone."""

from collections.abc import Mapping

import pytest

from shared.app.messages import MessageKind, message
from shared.core.names import cloud_name, labels
from shared.ports import BidRequest, Create
from tests.unit.app.world import ZONE, World

OURS, THEIRS = "abc123", "zzz999"


def put_in_cloud(world: World, name: str, tags: Mapping[str, str]) -> None:
    """Let something be in the zone that no document knows."""
    world.slices.create(
        BidRequest(name, ZONE, "v4-16", "tpu-ubuntu2204-base", "spot", tags, {}, request_id=name)
    )


def sweep(world: World) -> None:
    """Let some ticks pass; a request without hosts is never granted."""
    world.gives = False
    world.ticks(5.0)


def test_an_orphan_is_deleted(world: World) -> None:
    """Our name, our labels, no slice that knows it."""
    world.run_job()
    name = cloud_name(OURS, "deadbeef", 1, "0")
    put_in_cloud(world, name, labels(OURS, "deadbeef", 1, "0"))
    sweep(world)

    assert [world.bid.name] == list(world.slices.names)


@pytest.mark.parametrize(
    "installation, tags",
    [
        pytest.param(OURS, {}, id="no labels"),
        pytest.param(OURS, labels(THEIRS, "deadbeef", 1, "0"), id="labels of another installation"),
        pytest.param(OURS, labels(OURS, "cafecafe", 1, "0"), id="labels of another slice"),
        pytest.param(THEIRS, labels(THEIRS, "deadbeef", 1, "0"), id="another installation"),
        pytest.param(THEIRS, labels(OURS, "deadbeef", 1, "0"), id="a name of another installation"),
    ],
)
def test_what_is_not_surely_ours_is_left_alone(
    world: World, installation: str, tags: Mapping[str, str]
) -> None:
    """Name and labels must both say so."""
    world.run_job()
    name = cloud_name(installation, "deadbeef", 1, "0")
    put_in_cloud(world, name, tags)
    sweep(world)

    assert name in world.slices.names


def test_somebody_elses_node_is_left_alone(world: World) -> None:
    """A name of any other form is none of our business."""
    world.run_job()
    put_in_cloud(world, "my-own-node", labels(OURS, "deadbeef", 1, "0"))
    sweep(world)

    assert "my-own-node" in world.slices.names


def test_a_bid_that_a_slice_knows_by_now_is_not_deleted(world: World) -> None:
    """It was created between the listing and the reading: the sweep reads once more."""
    world.run_job()
    name = world.bid.name
    found = message(MessageKind.ORPHAN_FOUND, {"zone": ZONE, "name": name})
    world.publish("preemptions", found)

    assert [name] == list(world.slices.names)


def test_a_bid_of_a_generation_to_come_is_not_deleted(world: World) -> None:
    """The Store that was read may be a moment older than the cloud."""
    world.run_job()
    name = cloud_name(OURS, world.slice().uid, 2, "0")
    put_in_cloud(world, name, labels(OURS, world.slice().uid, 2, "0"))
    sweep(world)

    assert name in world.slices.names


def test_a_create_that_took_effect_after_its_bid_was_buried_is_deleted(world: World) -> None:
    """The slice had it once, and nobody waits for it."""
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    name = cloud_name(OURS, world.slice().uid, 1, "0")
    world.tick_until(lambda: name not in world.slices.names and len(world.slice().generations) == 1)
    put_in_cloud(world, name, labels(OURS, world.slice().uid, 1, "0"))
    sweep(world)

    assert [world.bid.name] == list(world.slices.names)


def test_an_orphan_is_found_where_nothing_lives_any_more(world: World) -> None:
    """The last job of a zone is over, and a create that was given up takes effect."""
    world.run_job()
    world.finish_job()
    world.tick_until(lambda: not world.slices.names)
    name = cloud_name(OURS, world.slice().uid, 1, "0")
    put_in_cloud(world, name, labels(OURS, world.slice().uid, 1, "0"))
    sweep(world)

    assert () == world.slices.names


def test_a_slice_that_cannot_be_read_hides_no_other(world: World) -> None:
    """Its document says so in the log; the others are observed."""
    world.store.commit([Create("slices/aaa", {"name": "aaa", "uid": "deadbeef", "live": True})])
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))

    assert 2 == world.slice().generation
