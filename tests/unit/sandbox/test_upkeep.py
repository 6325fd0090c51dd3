"""What owners have done to nodes that run: stop, start, reset, maintenance."""

import pytest

from sandbox.cloud import Cloud
from sandbox.errors import ApiError
from sandbox.queued_request import QueuedRequest
from sandbox.resources import NodeState, Power, QueuedState
from shared.core.catalog import Tier
from tests.clouds import BOOTED_AT, LOCATION, active_cloud, make_cloud, queued_name, state, wish

ALONE = f"{LOCATION}/nodes/alone"
WINDOW = {"windowStartTime": "2030-01-01T00:00:00Z"}


def cloud_with_node(tier: Tier = Tier.ON_DEMAND, kind: str = "v4-8") -> Cloud:
    """Make a cloud with the node ``alone``, whose hosts run."""
    cloud = make_cloud()
    cloud.create_node(LOCATION, wish("alone", accelerator_type=kind), tier)
    cloud.advance(BOOTED_AT)
    return cloud


def test_stopped_node_keeps_its_name_and_starts_again() -> None:
    """Its host is off meanwhile and boots anew."""
    cloud = cloud_with_node()
    boot = cloud.host("alone-w-0").boot_id
    stop = cloud.upkeep.stop(ALONE)
    assert NodeState.STOPPING == cloud.node(ALONE).state
    cloud.advance(BOOTED_AT + 30)
    assert (NodeState.STOPPED, Power.OFF) == (
        cloud.node(ALONE).state,
        cloud.host("alone-w-0").power,
    )

    start = cloud.upkeep.start(ALONE)
    assert NodeState.STARTING == cloud.node(ALONE).state
    cloud.advance(BOOTED_AT + 150)

    assert (NodeState.READY, Power.ON) == (cloud.node(ALONE).state, cloud.host("alone-w-0").power)
    assert boot != cloud.host("alone-w-0").boot_id
    assert [NodeState.STOPPED, NodeState.READY] == [
        getattr(cloud.operation(operation.name).result, "state", None)
        for operation in (stop, start)
    ]


@pytest.mark.parametrize(
    "verb, kind, words",
    [
        ("stop", "v4-16", "not supported for TPU Pods"),
        ("start", "v4-16", "not supported for TPU Pods"),
        ("start", "v4-8", "start is not supported while in state READY"),
    ],
)
def test_stop_and_start_are_for_single_hosts_in_the_right_state(
    verb: str, kind: str, words: str
) -> None:
    """Pods can only be deleted."""
    cloud = cloud_with_node(kind=kind)

    with pytest.raises(ApiError, match=words) as error:
        getattr(cloud.upkeep, verb)(ALONE)

    assert "FAILED_PRECONDITION" == error.value.status


def test_node_of_a_queued_resource_cannot_be_stopped() -> None:
    """It is the request that is deleted."""
    cloud = active_cloud()

    with pytest.raises(ApiError, match="nodes of a queued resource"):
        cloud.upkeep.stop(f"{LOCATION}/nodes/a")


def test_spot_node_that_was_preempted_cannot_be_started() -> None:
    """It has to be made again."""
    cloud = cloud_with_node(Tier.SPOT)
    cloud.preempt(ALONE, notice=False)

    with pytest.raises(ApiError, match="start is not supported while in state PREEMPTED"):
        cloud.upkeep.start(ALONE)


def test_stop_that_was_overtaken_by_a_delete_is_aborted() -> None:
    """The node is as the delete leaves it."""
    cloud = cloud_with_node()
    stop = cloud.upkeep.stop(ALONE)
    cloud.delete_node(ALONE)

    cloud.advance(BOOTED_AT + 100)

    error = cloud.operation(stop.name).error
    assert error
    assert 10 == error["code"]
    assert {} == dict(cloud.nodes)


def test_reset_boots_every_host_of_a_request_again() -> None:
    """It stays ACTIVE; the nodes say that they restart."""
    cloud = active_cloud()
    boots = [host.boot_id for host in cloud.hosts.values()]
    operation = cloud.upkeep.reset(queued_name("a"))
    assert NodeState.RESTARTING == cloud.node(f"{LOCATION}/nodes/a").state
    assert {Power.DEAD} == {host.power for host in cloud.hosts.values()}

    cloud.advance(BOOTED_AT + 50)

    assert QueuedState.ACTIVE == state(cloud)
    assert {Power.ON} == {host.power for host in cloud.hosts.values()}
    assert not set(boots) & {host.boot_id for host in cloud.hosts.values()}
    assert cloud.queued_resource(queued_name("a")) == cloud.operation(operation.name).result


def test_reset_is_refused_unless_active() -> None:
    """A suspended request is good for nothing."""
    cloud = active_cloud()
    cloud.preempt(f"{LOCATION}/nodes/a", notice=False)

    with pytest.raises(ApiError, match="cannot be reset while in state SUSPENDING"):
        cloud.upkeep.reset(queued_name("a"))


def test_simulated_event_reaches_the_hosts_it_was_meant_for_and_boots_them_again() -> None:
    """Of a node that is not spot; the others go on."""
    cloud = cloud_with_node(kind="v4-16")
    boots = [cloud.host(f"alone-w-{index}").boot_id for index in (0, 1)]

    cloud.upkeep.simulate_event(ALONE, ("1",))
    events = [host.maintenance_event for host in cloud.hosts.values()]
    cloud.advance(BOOTED_AT + 60)

    assert ["NONE", "TERMINATE_ON_HOST_MAINTENANCE"] == events
    assert ["NONE", "NONE"] == [host.maintenance_event for host in cloud.hosts.values()]
    assert [True, False] == [
        boot == cloud.host(f"alone-w-{index}").boot_id for index, boot in enumerate(boots)
    ]
    assert NodeState.READY == cloud.node(ALONE).state


def test_simulated_event_takes_a_spot_node_away() -> None:
    """As a maintenance event does on Compute Engine."""
    cloud = active_cloud()

    cloud.upkeep.simulate_event(f"{LOCATION}/nodes/a", ("0",))
    cloud.advance(BOOTED_AT + 30)

    assert QueuedState.SUSPENDING == state(cloud)


@pytest.mark.parametrize("worker", ["2", "-1", "x"])
def test_worker_that_is_not_there_is_refused(worker: str) -> None:
    """Nothing has begun then."""
    cloud = active_cloud()

    with pytest.raises(ApiError, match="node has 2 workers"):
        cloud.upkeep.simulate_event(f"{LOCATION}/nodes/a", (worker,))

    assert {"NONE"} == {host.maintenance_event for host in cloud.hosts.values()}


def test_maintenance_can_be_begun_only_when_it_was_announced() -> None:
    """Then it ends with the window gone and the hosts booted."""
    cloud = cloud_with_node()
    with pytest.raises(ApiError, match="no upcoming maintenance"):
        cloud.upkeep.maintain(ALONE)
    cloud.announce_maintenance(ALONE, WINDOW)

    operation = cloud.upkeep.maintain(ALONE)
    cloud.advance(BOOTED_AT + 100)

    assert cloud.operation(operation.name).ended_at is not None
    assert None is cloud.operation(operation.name).error
    assert None is cloud.host("alone-w-0").upcoming_maintenance
    assert "HEALTHY" == cloud.node(ALONE).health


@pytest.mark.parametrize(
    "names, words",
    [((), "Missing required field"), (("b",), "does not belong"), (("m-1",), "no upcoming")],
)
def test_maintenance_of_a_request_names_nodes_of_it(names: tuple[str, ...], words: str) -> None:
    """All of them are checked before any begins."""
    cloud = make_cloud()
    request = QueuedRequest((wish("m-0"), wish("m-1")), Tier.ON_DEMAND, body={})
    cloud.create_queued_resource(queued_name("m"), request)
    cloud.advance(BOOTED_AT)
    cloud.announce_maintenance(f"{LOCATION}/nodes/m-0", WINDOW)

    with pytest.raises(ApiError, match=words):
        cloud.upkeep.maintain_some(queued_name("m"), names)

    operation = cloud.upkeep.maintain_some(queued_name("m"), ("m-0",))
    cloud.advance(BOOTED_AT + 100)
    assert cloud.operation(operation.name).ended_at is not None
    assert {"NONE"} == {host.maintenance_event for host in cloud.hosts.values()}
