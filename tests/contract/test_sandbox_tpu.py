"""The sandbox's Cloud TPU API, spoken to by Google's own client library."""

import json
import urllib.request
from collections.abc import Iterator

import pytest
from google.api_core import exceptions
from google.cloud import tpu_v2
from google.protobuf.field_mask_pb2 import FieldMask

from tests.sandboxes import PARENT, PATIENCE_S, Box, eventually, running

QueuedState = tpu_v2.QueuedResourceState.State


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Give the sandbox that all tests of this file share; each uses names of its own."""
    with running(tmp_path_factory.mktemp("tpu")) as box:
        yield box


def get_json(box: Box, path: str) -> dict[str, object]:
    """Read a path of the API as plain JSON, with enums as names."""
    with urllib.request.urlopen(f"{box.url}/v2/{path}?alt=json", timeout=PATIENCE_S) as answer:
        parsed: dict[str, object] = json.load(answer)
        return parsed


def test_slice_lives_and_dies_through_googles_client(box: Box) -> None:
    """Create, wait, read, update, delete: with long-running operations throughout."""
    node = box.create_slice("whole", "true", labels={"tpuctl-slice": "x"})

    queued = box.tpu.get_queued_resource(name=f"{PARENT}/queuedResources/whole")
    assert QueuedState.ACTIVE == queued.state.state
    assert "v4-16" == queued.tpu.node_spec[0].node.accelerator_type
    assert tpu_v2.Node.Health.HEALTHY == node.health
    assert tpu_v2.Node.ApiVersion.V2 == node.api_version
    assert queued.name == node.queued_resource
    assert {"tpuctl-slice": "x"} == dict(node.labels)
    assert node.scheduling_config.spot
    assert 2 == len({endpoint.ip_address for endpoint in node.network_endpoints})
    assert node.id > 0

    box.tpu.delete_queued_resource(
        request={"name": queued.name, "force": True}, timeout=PATIENCE_S
    ).result(timeout=PATIENCE_S)

    with pytest.raises(exceptions.NotFound):
        box.tpu.get_queued_resource(name=queued.name)
    assert box.ready_node("whole") is None


def test_update_replaces_the_whole_map(box: Box) -> None:
    """Also what somebody else wrote into it."""
    node = box.create_slice("patched", "true")

    changed = tpu_v2.Node(name=node.name, metadata={"tpuctl-bell": "7"})
    done = box.tpu.update_node(node=changed, update_mask=FieldMask(paths=["metadata"])).result(
        timeout=PATIENCE_S
    )

    assert {"tpuctl-bell": "7"} == dict(done.metadata)
    assert {"tpuctl-bell": "7"} == dict(box.tpu.get_node(name=node.name).metadata)


def test_enums_are_names_unless_numbers_are_asked_for(box: Box) -> None:
    """And numbers of 64 bits are strings, operations carry types."""
    box.create_slice("plain", "true")

    node = get_json(box, f"{PARENT}/nodes/plain")
    operations = get_json(box, f"{PARENT}/operations")["operations"]

    assert ("READY", "HEALTHY", "V2") == (node["state"], node["health"], node["apiVersion"])
    assert isinstance(node["id"], str)
    assert isinstance(operations, list)
    mine = [o for o in operations if o["metadata"]["target"].endswith("queuedResources/plain")]
    assert "type.googleapis.com/google.cloud.tpu.v2.QueuedResource" == mine[0]["response"]["@type"]


def test_second_create_of_a_name_already_exists(box: Box) -> None:
    """While the first one's operation is still running, too."""
    box.tpu.create_queued_resource(box.request("twice"))

    with pytest.raises(exceptions.Conflict, match="already exists"):
        box.tpu.create_queued_resource(box.request("twice"))


def test_repeated_request_id_answers_the_first_operation(box: Box) -> None:
    """A retried call is safe."""
    request = box.request("again")
    request.request_id = "5e5c9c0e-0000-4000-8000-000000000001"

    first, second = (box.tpu.create_queued_resource(request).operation.name for _ in range(2))

    assert first == second


def test_scheduling_config_in_a_queued_resource_is_refused(box: Box) -> None:
    """The tier belongs to the request."""
    request = box.request("sched", scheduling_config={"spot": True})

    with pytest.raises(exceptions.BadRequest, match="scheduling_config"):
        box.tpu.create_queued_resource(request)


def test_unknown_zone_is_forbidden(box: Box) -> None:
    """Google does not say whether it exists."""
    with pytest.raises(exceptions.Forbidden, match="not found or access is unauthorized"):
        list(box.tpu.list_nodes(parent="projects/sandbox/locations/mars-a"))


def test_delete_without_force_is_a_failed_precondition(box: Box) -> None:
    """400, as Google maps it."""
    box.create_slice("kept", "true")

    with pytest.raises(exceptions.BadRequest, match="without force"):
        box.tpu.delete_queued_resource(name=f"{PARENT}/queuedResources/kept")


def test_reset_of_what_is_not_there_is_refused(box: Box) -> None:
    """As any other call."""
    with pytest.raises(exceptions.NotFound):
        box.tpu.reset_queued_resource(name=f"{PARENT}/queuedResources/any")


def test_listing_comes_in_pages_and_over_all_zones(box: Box) -> None:
    """The client follows the page tokens."""
    for number in range(5):
        box.tpu.create_queued_resource(box.request(f"page-{number}")).result(timeout=PATIENCE_S)

    request = {"parent": "projects/sandbox/locations/-", "page_size": 2}
    pages = list(box.tpu.list_queued_resources(request=request).pages)

    names = [queued.name for page in pages for queued in page.queued_resources]
    assert all(len(page.queued_resources) <= 2 for page in pages)
    assert {f"{PARENT}/queuedResources/page-{number}" for number in range(5)} <= set(names)
    assert len(names) == len(set(names))


def test_silent_zone_is_named_and_hides_what_is_in_it(box: Box) -> None:
    """A listing that is not complete says so; a client that does not look sees nothing."""
    box.create_slice("hidden", "true")
    box.admin.change_settings(unreachable=["us-central2-b"])
    try:
        everywhere, here = (
            next(iter(box.tpu.list_nodes(parent=parent).pages))
            for parent in ("projects/sandbox/locations/-", PARENT)
        )
        with pytest.raises(exceptions.ServiceUnavailable):
            box.tpu.get_node(name=f"{PARENT}/nodes/hidden")
    finally:
        box.admin.change_settings(unreachable=[])

    assert [PARENT] == list(everywhere.unreachable)
    assert [PARENT] == list(here.unreachable)
    assert [] == list(everywhere.nodes)


def test_lost_reply_has_had_its_effect(box: Box) -> None:
    """The call failed, and yet the request comes to exist."""
    failure = {"method": "CreateQueuedResource", "code": 503, "when": "after"}
    box.admin.change_settings(failures=[failure])

    with pytest.raises(exceptions.ServiceUnavailable):
        box.tpu.create_queued_resource(box.request("lost"))

    eventually(lambda: "lost" in str(list(box.tpu.list_queued_resources(parent=PARENT))))


def test_operation_may_fail_after_the_call_succeeded(box: Box) -> None:
    """The error is in the operation alone."""
    failure = {
        "method": "CreateQueuedResource",
        "code": 500,
        "when": "operation",
        "message": "an internal error has occurred",
    }
    box.admin.change_settings(failures=[failure])

    operation = box.tpu.create_queued_resource(box.request("broken"))

    with pytest.raises(exceptions.GoogleAPICallError, match="an internal error has occurred"):
        operation.result(timeout=PATIENCE_S)
    with pytest.raises(exceptions.NotFound):
        box.tpu.get_queued_resource(name=f"{PARENT}/queuedResources/broken")


def test_preemption_is_seen_through_the_api(box: Box) -> None:
    """SUSPENDED by the service, the node gone, and deletable without force."""
    box.create_slice("taken", "true")

    box.admin.post("nodes/taken:preempt", {"notice": False})

    eventually(lambda: "SUSPENDED" == box.queued_state("taken"))
    queued = box.tpu.get_queued_resource(name=f"{PARENT}/queuedResources/taken")
    assert tpu_v2.QueuedResourceState.StateInitiator.SERVICE == queued.state.state_initiator
    assert box.ready_node("taken") is None
    box.tpu.delete_queued_resource(name=queued.name).result(timeout=PATIENCE_S)


def test_calls_are_logged(box: Box) -> None:
    """Who asked what, and how it was answered."""
    with pytest.raises(exceptions.NotFound):
        box.tpu.get_node(name=f"{PARENT}/nodes/nobody")

    calls = box.admin.get("calls")["calls"]
    assert isinstance(calls, list)
    assert ("GetNode", "GET", 404) == tuple(
        calls[-1][key] for key in ("method", "http_method", "status")
    )
