"""Nodes that are made and deleted by themselves."""

import pytest

from sandbox.errors import ApiError
from sandbox.queued_request import QueuedRequest
from sandbox.resources import NodeState
from shared.core.catalog import Tier
from tests.clouds import BOOTED_AT, LOCATION, make_cloud, queued_name, wish

NAME = f"{LOCATION}/nodes/a"


@pytest.mark.parametrize(
    "tier, words",
    [
        (Tier.SPOT, 'There is no more capacity in the zone "us-central2-b"'),
        (Tier.ON_DEMAND, 'There is no more capacity in the zone "us-central2-b"'),
        (Tier.RESERVED, "Insufficient reserved capacity"),
    ],
)
def test_node_without_capacity_is_refused_by_its_operation_and_gone(tier: Tier, words: str) -> None:
    """The call had been accepted; code 8, as queued resources say it."""
    cloud = make_cloud(capacity={"us-central2-b/v4-16": 0})
    operation = cloud.create_node(LOCATION, wish("a"), tier)
    assert NodeState.CREATING == cloud.node(NAME).state

    cloud.advance(100)

    error = cloud.operation(operation.name).error
    assert error
    assert 8 == error["code"]
    assert words in str(error["message"])
    assert {} == dict(cloud.nodes)


def test_node_that_is_deleted_while_it_is_made_ends_its_create() -> None:
    """Nobody waits for ever."""
    cloud = make_cloud()
    create = cloud.create_node(LOCATION, wish("a"), Tier.SPOT)
    cloud.delete_node(NAME)

    cloud.advance(1_000)

    error = cloud.operation(create.name).error
    assert error
    assert 1 == error["code"]
    assert {} == dict(cloud.nodes)


def test_node_can_be_named_by_its_topology() -> None:
    """The other way to say v4-16."""
    cloud = make_cloud()
    config = {"type": "V4", "topology": "2x2x2"}

    cloud.create_node(
        LOCATION, wish("a", accelerator_type="", accelerator_config=config), Tier.SPOT
    )

    assert ("v4-16", 2) == (cloud.node(NAME).spec.accelerator_type, len(cloud.hosts))


@pytest.mark.parametrize(
    "fields, words",
    [
        (
            {"accelerator_config": {"type": "V4", "topology": "2x2x2"}},
            "Only one of accelerator_type and accelerator_config",
        ),
        (
            {"accelerator_type": "", "accelerator_config": {"type": "V4", "topology": "9x9"}},
            "no V4 of 9x9",
        ),
        ({"runtime_version": ""}, "Missing required field 'runtime_version'"),
    ],
)
def test_node_that_is_described_badly_is_refused_at_once(
    fields: dict[str, object], words: str
) -> None:
    """Before there is an operation."""
    cloud = make_cloud()

    with pytest.raises(ApiError, match=words):
        cloud.create_node(LOCATION, wish("a", **fields), Tier.SPOT)

    assert {} == dict(cloud.operations)


def test_node_of_a_multislice_cannot_be_deleted_by_itself() -> None:
    """Only all of them, through their request."""
    cloud = make_cloud()
    wishes = (wish("m-0", is_multislice=True), wish("m-1", is_multislice=True))
    cloud.create_queued_resource(queued_name("m"), QueuedRequest(wishes, Tier.SPOT, body={}))
    cloud.advance(BOOTED_AT)

    with pytest.raises(ApiError, match="belongs to a multislice group") as error:
        cloud.delete_node(f"{LOCATION}/nodes/m-0")

    assert "FAILED_PRECONDITION" == error.value.status
    assert {NodeState.READY} == {node.state for node in cloud.nodes.values()}


def test_delete_may_be_ordered_again_and_both_end() -> None:
    """Deletes get repeated."""
    cloud = make_cloud()
    cloud.create_node(LOCATION, wish("a"), Tier.SPOT)
    cloud.advance(BOOTED_AT)
    names = [cloud.delete_node(NAME).name for _ in range(2)]

    cloud.advance(BOOTED_AT + 50)

    assert [BOOTED_AT + 50] * 2 == [cloud.operation(name).ended_at for name in names]
