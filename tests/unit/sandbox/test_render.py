"""Answers in the JSON of the Cloud TPU API, in each of its versions."""

import pytest

from sandbox import render
from sandbox.errors import JsonObject
from sandbox.resources import QueuedResource, QueuedState
from shared.core.catalog import Tier
from tests.clouds import (
    LOCATION,
    active_cloud,
    api_of,
    ask,
    make_cloud,
    node_body,
    queued_name,
    several_body,
    wish,
)

NAME = queued_name("q")


@pytest.mark.parametrize("version", ["v2", "v2alpha1"])
@pytest.mark.parametrize("state", list(QueuedState))
def test_every_state_fits_googles_message(state: QueuedState, version: str) -> None:
    """With enums as numbers too, and nothing lost on the way."""
    queued = QueuedResource(
        NAME, (), {"spot": {}}, created_at=1.5, state=state, error={"code": 8, "message": "no"}
    )

    named, numbered = (
        render.queued_resource(queued, version, numbers=numbers) for numbers in (False, True)
    )

    assert isinstance(named["state"], dict)
    assert isinstance(numbered["state"], dict)
    assert state.value == named["state"]["state"]
    assert isinstance(numbered["state"]["state"], int)
    assert "1970-01-01T00:00:01.500Z" == named["createTime"]
    assert {} == named["spot"]


def test_only_a_failed_request_bears_an_error() -> None:
    """In the member that belongs to its state."""
    error: JsonObject = {"code": 8, "message": "no"}
    shown = [
        render.queued_resource(QueuedResource(NAME, (), {}, 0.0, state=state, error=error))["state"]
        for state in (QueuedState.FAILED, QueuedState.SUSPENDED)
    ]

    assert [
        {"state": "FAILED", "failedData": {"error": error}},
        {"state": "SUSPENDED", "suspendedData": {}},
    ] == shown


@pytest.mark.parametrize(
    "made_in, asked, read_in, expected",
    [
        ("v2", "multisliceParams", "v2alpha1", "multiNodeParams"),
        ("v2alpha1", "multiNodeParams", "v2", "multisliceParams"),
        ("v2", "multisliceParams", "v2", "multisliceParams"),
    ],
)
def test_request_for_several_nodes_is_spelled_as_the_reader_knows_it(
    made_in: str, asked: str, read_in: str, expected: str
) -> None:
    """Whoever made it, and in whichever version."""
    cloud = make_cloud()
    api = api_of(cloud)
    params = {"queuedResourceId": "m"}
    api.call("CreateQueuedResource", LOCATION, "", params, several_body(asked, 2), made_in)
    cloud.advance(10)

    shown = api.call("GetQueuedResource", LOCATION, "m", version=read_in)

    assert isinstance(shown["tpu"], dict)
    assert {"nodeCount": 2} == shown["tpu"]["nodeSpec"][0][expected]


def test_node_is_shown_with_all_that_clients_read() -> None:
    """Numbers of 64 bits are strings; addresses are there from READY on."""
    cloud = active_cloud()
    node = cloud.node(f"{LOCATION}/nodes/a")

    shown = render.node(node, cloud.hosts)

    assert {
        "name": f"{LOCATION}/nodes/a",
        "acceleratorType": "v4-16",
        "id": str(node.id),
        "state": "READY",
        "health": "HEALTHY",
        "apiVersion": "V2",
        "acceleratorConfig": {"type": "V4", "topology": "2x2x2"},
        "networkEndpoints": [
            {"ipAddress": cloud.hosts[name].ip, "port": 8470} for name in node.hosts
        ],
        "networkConfig": {"network": "projects/sandbox/global/networks/default"},
        "schedulingConfig": {"spot": True},
        "queuedResource": queued_name("a"),
        "createTime": "1970-01-01T00:00:21Z",
    } == shown


def test_external_addresses_are_shown_where_they_were_asked_for() -> None:
    """They are the hosts' own: loopback is all there is."""
    cloud = make_cloud()
    cloud.create_node(LOCATION, wish("a", external_ips=True), Tier.SPOT)
    cloud.advance(200)

    shown = render.node(cloud.node(f"{LOCATION}/nodes/a"), cloud.hosts)

    assert isinstance(shown["networkEndpoints"], list)
    assert [
        endpoint["ipAddress"] == endpoint["accessConfig"]["externalIp"]
        for endpoint in shown["networkEndpoints"]
    ] == [True, True]


def test_version_1_has_its_own_words_for_a_node() -> None:
    """One address, a port that is a text, and the runtime as TensorFlow's version."""
    cloud = active_cloud()
    node = cloud.node(f"{LOCATION}/nodes/a")

    shown = render.node(node, cloud.hosts, "v1")

    assert ("8470", cloud.hosts["a-w-0"].ip) == (shown["port"], shown["ipAddress"])
    assert ("tpu-ubuntu2204-base", "V2_ALPHA1") == (
        shown["tensorflowVersion"],
        shown["apiVersion"],
    )
    assert "queuedResource" not in shown


@pytest.mark.parametrize("version", ["v2", "v2alpha1"])
def test_upcoming_maintenance_of_a_host_is_shown_at_its_node(version: str) -> None:
    """In the API's spelling, whatever the metadata server calls it."""
    cloud = active_cloud()
    window = {"window-start-time": "2030-01-01T00:00:00Z", "canReschedule": "true", "type": "X"}
    cloud.announce_maintenance(f"{LOCATION}/nodes/a", window)

    shown = render.node(cloud.node(f"{LOCATION}/nodes/a"), cloud.hosts, version)

    assert {
        "windowStartTime": "2030-01-01T00:00:00Z",
        "canReschedule": True,
    } == shown["upcomingMaintenance"]


def test_operation_says_what_it_made_and_of_which_type() -> None:
    """Without the type Google's client refuses it."""
    cloud = make_cloud()
    operation = ask(cloud, "a")
    open_one = render.operation(cloud.operation(operation), cloud.hosts)
    cloud.advance(10)

    shown = {
        version: render.operation(cloud.operation(operation), cloud.hosts, version)
        for version in ("v2", "v2alpha1")
    }

    assert (False, None) == (open_one["done"], open_one.get("response"))
    for version, each in shown.items():
        response, metadata = each["response"], each["metadata"]
        assert isinstance(response, dict)
        assert isinstance(metadata, dict)
        prefix = f"type.googleapis.com/google.cloud.tpu.{version}"
        assert f"{prefix}.QueuedResource" == response["@type"]
        assert f"{prefix}.OperationMetadata" == metadata["@type"]
        assert ("create", queued_name("a")) == (metadata["verb"], metadata["target"])


def test_operation_that_made_nothing_is_empty() -> None:
    """A delete has nothing to show."""
    cloud = active_cloud()
    operation = cloud.delete_queued_resource(queued_name("a"), force=True).name
    cloud.advance(1_000)

    shown = render.operation(cloud.operation(operation), cloud.hosts)

    assert {"@type": "type.googleapis.com/google.protobuf.Empty"} == shown["response"]


def test_node_of_the_newest_version_loses_in_an_older_one_what_that_does_not_know() -> None:
    """It is left out, and the rest is shown."""
    cloud = make_cloud()
    api = api_of(cloud)
    body = node_body(
        schedulingConfig={"provisioningModel": "SPOT", "spot": True}, autocheckpointEnabled=True
    )
    api.call("CreateNode", LOCATION, "", {"nodeId": "n"}, body, "v2alpha1")

    new, old = (api.call("GetNode", LOCATION, "n", version=v) for v in ("v2alpha1", "v2"))

    assert True is new["autocheckpointEnabled"]
    assert {"provisioningModel": "SPOT", "spot": True} == new["schedulingConfig"]
    assert "autocheckpointEnabled" not in old
    assert {"spot": True} == old["schedulingConfig"]
