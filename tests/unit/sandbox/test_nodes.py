"""What may become of a node and its hosts."""

from collections.abc import Mapping

import pytest

from sandbox.errors import ApiError
from sandbox.nodes import NodeUpdate
from sandbox.queued_request import QueuedRequest
from sandbox.resources import Initiator, NodeState, Power, QueuedState
from shared.core.catalog import Tier
from tests.clouds import (
    ACTIVE_AT,
    BOOTED_AT,
    LOCATION,
    READY_AT,
    active_cloud,
    ask,
    make_cloud,
    queued_name,
    state,
    wish,
)


def test_active_is_not_ready_and_ready_is_not_booted() -> None:
    """Three different moments, as in the real cloud."""
    cloud = make_cloud()
    ask(cloud, "a")
    seen = []

    for now in (ACTIVE_AT, READY_AT, BOOTED_AT):
        cloud.advance(now)
        node = cloud.node(f"{LOCATION}/nodes/a")
        seen.append((node.state, cloud.host("a-w-1").power))

    assert [
        (NodeState.CREATING, Power.OFF),
        (NodeState.READY, Power.BOOTING),
        (NodeState.READY, Power.ON),
    ] == seen


def test_silent_preemption_suspends_the_request_and_removes_the_node() -> None:
    """The hosts die at once; the request stays, holding its name."""
    cloud = active_cloud()

    cloud.preempt(f"{LOCATION}/nodes/a", notice=False)

    assert QueuedState.SUSPENDING == state(cloud)
    assert NodeState.PREEMPTED == cloud.node(f"{LOCATION}/nodes/a").state
    assert [Power.DEAD, Power.DEAD] == [host.power for host in cloud.hosts.values()]
    cloud.advance(BOOTED_AT + 30)
    queued = cloud.queued_resource(queued_name("a"))
    assert (QueuedState.SUSPENDED, Initiator.SERVICE) == (queued.state, queued.initiator)
    assert {} == dict(cloud.nodes)
    assert {} == dict(cloud.hosts)


def test_notice_comes_before_the_kill() -> None:
    """While the notice runs, the API knows nothing of it."""
    cloud = active_cloud()

    cloud.preempt(f"{LOCATION}/nodes/a", notice=True, notice_s=7)

    cloud.advance(BOOTED_AT + 6.9)
    assert [True, True] == [host.is_preempted for host in cloud.hosts.values()]
    assert QueuedState.ACTIVE == state(cloud)
    assert Power.ON == cloud.host("a-w-0").power
    cloud.advance(BOOTED_AT + 7)
    assert QueuedState.SUSPENDING == state(cloud)
    assert Power.DEAD == cloud.host("a-w-0").power


def test_notice_may_reach_one_host_only() -> None:
    """The others find out when they are dead."""
    cloud = active_cloud()

    cloud.preempt(f"{LOCATION}/nodes/a", notice=True, hosts=(1,))

    assert [False, True] == [cloud.host(f"a-w-{index}").is_preempted for index in (0, 1)]


def test_notice_of_a_deleted_node_does_not_hit_its_namesake() -> None:
    """A timer means one node, not a name."""
    cloud = active_cloud(delete_s=1)
    cloud.preempt(f"{LOCATION}/nodes/a", notice=True, notice_s=500)
    cloud.delete_queued_resource(queued_name("a"), force=True)
    cloud.advance(BOOTED_AT + 2)
    ask(cloud, "a")

    cloud.advance(BOOTED_AT + 501)

    assert QueuedState.ACTIVE == state(cloud)


def test_node_without_a_queued_resource_stays_preempted() -> None:
    """Nobody removes it but its owner."""
    cloud = make_cloud()
    cloud.create_node(LOCATION, wish("alone"), Tier.SPOT)
    cloud.advance(200)

    cloud.preempt(f"{LOCATION}/nodes/alone", notice=False)
    cloud.advance(10_000)

    assert NodeState.PREEMPTED == cloud.node(f"{LOCATION}/nodes/alone").state


def test_killed_host_leaves_its_node_ready() -> None:
    """The API does not know what happens inside a VM."""
    cloud = active_cloud()

    cloud.kill_host("a-w-1")

    assert Power.DEAD == cloud.host("a-w-1").power
    assert NodeState.READY == cloud.node(f"{LOCATION}/nodes/a").state


def test_reboot_gives_a_new_boot_id_after_the_boot_time() -> None:
    """A boot that was overtaken by another one never comes up."""
    cloud = active_cloud()
    before = cloud.host("a-w-0").boot_id
    cloud.reboot_host("a-w-0")
    cloud.advance(BOOTED_AT + 19)
    cloud.reboot_host("a-w-0")

    cloud.advance(BOOTED_AT + 21)
    assert Power.BOOTING == cloud.host("a-w-0").power
    cloud.advance(BOOTED_AT + 39)

    assert Power.ON == cloud.host("a-w-0").power
    assert before != cloud.host("a-w-0").boot_id


def test_metadata_reaches_the_hosts_after_the_api() -> None:
    """The operation first, the node, and only then the metadata servers; the map is replaced."""
    cloud = active_cloud()
    cloud.update_node(f"{LOCATION}/nodes/a", NodeUpdate(metadata={"bell": "1"}))
    seen: list[tuple[Mapping[str, str], Mapping[str, str]]] = []

    for now in (3.9, 4.0, 5.0):
        cloud.advance(BOOTED_AT + now)
        node = cloud.node(f"{LOCATION}/nodes/a")
        seen.append((node.metadata, cloud.host("a-w-0").attributes))

    assert [({}, {}), ({"bell": "1"}, {}), ({"bell": "1"}, {"bell": "1"})] == seen


def test_update_is_refused_unless_ready() -> None:
    """The state is named, as the real service does."""
    cloud = make_cloud()
    ask(cloud, "a")
    cloud.advance(ACTIVE_AT)

    with pytest.raises(ApiError, match="update is not supported while in state CREATING"):
        cloud.update_node(f"{LOCATION}/nodes/a", NodeUpdate(metadata={}))


def test_update_fails_when_the_node_is_preempted_meanwhile() -> None:
    """The call was accepted, the operation is not."""
    cloud = active_cloud()
    operation = cloud.update_node(f"{LOCATION}/nodes/a", NodeUpdate(metadata={"x": "1"})).name
    cloud.preempt(f"{LOCATION}/nodes/a", notice=False)

    cloud.advance(BOOTED_AT + 10)

    error = cloud.operation(operation).error
    assert error
    assert "while in state PREEMPTED" in str(error["message"])


def test_deleted_node_suspends_its_request_by_the_user() -> None:
    """The state's initiator tells it from a preemption."""
    cloud = active_cloud()

    cloud.delete_node(f"{LOCATION}/nodes/a")
    cloud.advance(10_000)

    queued = cloud.queued_resource(queued_name("a"))
    assert (QueuedState.SUSPENDED, Initiator.USER) == (queued.state, queued.initiator)
    assert {} == dict(cloud.nodes)


def test_multislice_is_preempted_as_a_whole() -> None:
    """One node taken suspends the request with all of its nodes."""
    cloud = make_cloud()
    request = QueuedRequest((wish("m-0"), wish("m-1")), Tier.SPOT, body={})
    cloud.create_queued_resource(queued_name("m"), request)
    cloud.advance(BOOTED_AT)

    cloud.preempt(f"{LOCATION}/nodes/m-1", notice=False)

    assert {NodeState.PREEMPTED} == {node.state for node in cloud.nodes.values()}
    assert QueuedState.SUSPENDING == state(cloud, "m")


def test_nodes_of_one_id_in_two_zones_have_hosts_of_their_own() -> None:
    """Directories are named by hosts."""
    cloud = make_cloud()
    other = "projects/sandbox/locations/us-central1-a"
    cloud.create_node(LOCATION, wish("a"), Tier.SPOT)
    runtime = {"accelerator_type": "v5litepod-4", "runtime_version": "v2-alpha-tpuv5-lite"}
    cloud.create_node(other, wish("a", **runtime), Tier.SPOT)

    assert {"a-w-0", "a-w-1", "a-us-central1-a-w-0"} == set(cloud.hosts)
    assert 3 == len({host.ip for host in cloud.hosts.values()})


def test_host_that_died_by_itself_is_noticed_once() -> None:
    """A late notice about an earlier boot changes nothing."""
    cloud = active_cloud()
    first = cloud.host("a-w-0").boot_id
    cloud.reboot_host("a-w-0")
    cloud.advance(BOOTED_AT + 20)

    cloud.host_died("a-w-0", first)
    assert Power.ON == cloud.host("a-w-0").power
    cloud.host_died("a-w-0", cloud.host("a-w-0").boot_id)

    assert Power.DEAD == cloud.host("a-w-0").power


def test_health_is_one_that_google_knows() -> None:
    """A misspelt one would break every reader."""
    cloud = active_cloud()
    name = f"{LOCATION}/nodes/a"

    cloud.set_health(name, "UNHEALTHY_MAINTENANCE", "host error")

    assert "UNHEALTHY_MAINTENANCE" == cloud.node(name).health
    with pytest.raises(ApiError, match="no such health: SICK"):
        cloud.set_health(name, "SICK")
