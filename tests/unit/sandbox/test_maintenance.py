"""Maintenance: the window in the metadata, the event, and what becomes of the hosts."""

from sandbox.cloud import Cloud
from sandbox.resources import NodeState, Power, QueuedState
from shared.core.catalog import Tier
from tests.clouds import BOOTED_AT, LOCATION, active_cloud, make_cloud, state, wish

NODE = f"{LOCATION}/nodes/a"
EVENT = "TERMINATE_ON_HOST_MAINTENANCE"


def on_demand_cloud() -> Cloud:
    """Make a cloud with the node ``a``, which is not spot; its hosts run."""
    cloud = make_cloud(maintenance_s=60)
    cloud.create_node(LOCATION, wish("a"), Tier.ON_DEMAND)
    cloud.advance(BOOTED_AT)
    return cloud


def test_window_is_announced_before_it_opens() -> None:
    """In every host's metadata, in Google's words."""
    cloud = active_cloud()

    cloud.weather.inject({"fault": "maintenance", "in_s": 600})

    window = cloud.host("a-w-1").upcoming_maintenance
    assert {
        "canReschedule": "false",
        "latestWindowStartTime": "1970-01-01T00:12:26Z",
        "maintenanceStatus": "PENDING",
        "maintenanceType": "SCHEDULED",
        "windowEndTime": "1970-01-01T00:12:31Z",
        "windowStartTime": "1970-01-01T00:12:26Z",
    } == window
    assert "NONE" == cloud.host("a-w-1").maintenance_event


def test_open_window_gives_a_notice_and_then_takes_a_spot_node() -> None:
    """A spot VM does not come back from maintenance."""
    cloud = active_cloud()
    cloud.weather.inject({"fault": "maintenance", "in_s": 100})

    cloud.advance(BOOTED_AT + 100)
    host = cloud.host("a-w-0")
    cloud.advance(BOOTED_AT + 130)

    assert host.upcoming_maintenance is not None
    assert (EVENT, "ONGOING") == (
        host.maintenance_event,
        host.upcoming_maintenance["maintenanceStatus"],
    )
    assert Power.ON == host.power
    assert QueuedState.SUSPENDING == state(cloud)


def test_maintenance_without_a_window_begins_at_once() -> None:
    """The event is the only word of it."""
    cloud = on_demand_cloud()

    cloud.weather.inject({"fault": "maintenance"})

    host = cloud.host("a-w-0")
    assert (EVENT, None) == (host.maintenance_event, host.upcoming_maintenance)


def test_other_nodes_boot_again_when_it_is_over() -> None:
    """Off for the time of the maintenance; the node stays READY, and says why it is unwell."""
    cloud = on_demand_cloud()
    cloud.weather.inject({"fault": "maintenance", "in_s": 10})

    cloud.advance(BOOTED_AT + 45)
    off = (cloud.host("a-w-0").power, cloud.node(NODE).health)
    cloud.advance(BOOTED_AT + 125)

    host, node = cloud.host("a-w-0"), cloud.node(NODE)
    assert (Power.DEAD, "UNHEALTHY_MAINTENANCE") == off
    assert (Power.ON, "NONE", None) == (
        host.power,
        host.maintenance_event,
        host.upcoming_maintenance,
    )
    assert (NodeState.READY, "HEALTHY") == (node.state, node.health)


def test_node_that_is_gone_by_then_is_left_alone() -> None:
    """A timer means one node, not a name."""
    cloud = on_demand_cloud()
    cloud.weather.inject({"fault": "maintenance", "in_s": 100})
    cloud.delete_node(NODE)
    cloud.advance(BOOTED_AT + 60)
    cloud.create_node(LOCATION, wish("a"), Tier.ON_DEMAND)

    cloud.advance(BOOTED_AT + 1000)

    assert "NONE" == cloud.host("a-w-0").maintenance_event
