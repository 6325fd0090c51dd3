"""Google's client library over gRPC, its own default: in versions 2 and 2alpha1, sync and async."""

import asyncio
from collections.abc import Iterator

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import tpu_v2, tpu_v2alpha1
from google.cloud.tpu_v2.services.tpu.transports import TpuGrpcAsyncIOTransport, TpuGrpcTransport
from google.cloud.tpu_v2alpha1.services.tpu.transports import TpuGrpcTransport as AlphaTransport
from google.protobuf import field_mask_pb2

from sandbox import control
from tests.sandboxes import PARENT, PATIENCE_S, ZONE, Box, running

NODE = tpu_v2.Node(
    accelerator_type="v4-8", runtime_version="tpu-ubuntu2204-base", labels={"a": "b"}
)
ALPHA = tpu_v2alpha1.Node(accelerator_type="v4-8", runtime_version="tpu-ubuntu2204-base")


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Give the sandbox that all tests of this file share; each uses names of its own."""
    quota = {"us-central2/v4/spot": 4}
    with running(tmp_path_factory.mktemp("grpc"), quota=quota) as box:
        yield box


@pytest.fixture(scope="module")
def address(box: Box) -> str:
    """Return where the sandbox speaks gRPC."""
    info = control.find(box.home)
    assert info is not None, "the sandbox is up"
    return info.grpc


@pytest.fixture
def client(address: str) -> Iterator[tpu_v2.TpuClient]:
    """Give a client of version 2."""
    with grpc.insecure_channel(address) as channel:
        yield tpu_v2.TpuClient(transport=TpuGrpcTransport(channel=channel))


def test_a_node_lives_from_create_to_delete(client: tpu_v2.TpuClient) -> None:
    """Operations are awaited as the library does it: with its own polls and types."""
    made = client.create_node(parent=PARENT, node_id="n", node=NODE)
    node = made.result(timeout=PATIENCE_S)
    changed = client.update_node(
        node=tpu_v2.Node(name=node.name, description="new"),
        update_mask=field_mask_pb2.FieldMask(paths=["description"]),
    ).result(timeout=PATIENCE_S)
    listed = [found.name for found in client.list_nodes(parent=PARENT)]
    client.delete_node(name=node.name).result(timeout=PATIENCE_S)

    assert (f"{PARENT}/nodes/n", "READY") == (node.name, node.state.name)
    assert ({"a": "b"}, "new") == (dict(node.labels), changed.description)
    assert [node.name] == listed
    assert [] == list(client.list_nodes(parent=PARENT))


def test_a_queued_resource_lives_from_create_to_forced_delete(
    box: Box, client: tpu_v2.TpuClient
) -> None:
    """What gRPC made is what REST shows."""
    request = box.request("q", accelerator_type="v4-8")
    client.create_queued_resource(request).result(timeout=PATIENCE_S)

    assert (
        f"{PARENT}/queuedResources/q"
        == box.tpu.get_queued_resource(name=f"{PARENT}/queuedResources/q").name
    )
    delete = {"name": f"{PARENT}/queuedResources/q", "force": True}
    client.delete_queued_resource(delete).result(timeout=PATIENCE_S)
    with pytest.raises(exceptions.NotFound, match="queuedResources/q"):
        client.get_queued_resource(name=f"{PARENT}/queuedResources/q")


def test_errors_have_googles_codes_and_details(box: Box, client: tpu_v2.TpuClient) -> None:
    """As exceptions of the library, with what stands in ``details``."""
    with pytest.raises(exceptions.ResourceExhausted) as refused:
        client.create_queued_resource(box.request("big", accelerator_type="v4-64"))
    with pytest.raises(exceptions.InvalidArgument, match="it names no nodes"):
        client.get_node(name=f"{PARENT}/queuedResources/q")
    with pytest.raises(exceptions.NotFound):
        client.get_node(name=f"{PARENT}/nodes/none")

    assert ["QuotaFailure"] == [type(each).__name__ for each in refused.value.details]


def test_a_reply_that_is_lost_is_an_unavailable_service(box: Box, client: tpu_v2.TpuClient) -> None:
    """What was ordered to break breaks here too, and the effect is there."""
    box.admin.change_settings(failures=[{"method": "CreateNode", "when": "dropped"}])

    with pytest.raises(exceptions.ServiceUnavailable):
        client.create_node(parent=PARENT, node_id="lost", node=NODE)

    assert [f"{PARENT}/nodes/lost"] == [node.name for node in client.list_nodes(parent=PARENT)]
    client.delete_node(name=f"{PARENT}/nodes/lost").result(timeout=PATIENCE_S)


def test_operations_locations_and_types_are_there(client: tpu_v2.TpuClient) -> None:
    """The mixins of the library, and the catalogue."""
    made = client.create_node(parent=PARENT, node_id="mix", node=NODE)
    made.result(timeout=PATIENCE_S)
    client.delete_node(name=f"{PARENT}/nodes/mix").result(timeout=PATIENCE_S)
    known = [each.name for each in client.list_operations({"name": PARENT}).operations]
    client.delete_operation({"name": made.operation.name})
    left = [each.name for each in client.list_operations({"name": PARENT}).operations]

    assert {made.operation.name} == set(known) - set(left)
    places = client.list_locations({"name": "projects/sandbox"}).locations
    assert ZONE in [place.location_id for place in places]
    assert "v4-8" == client.get_accelerator_type(name=f"{PARENT}/acceleratorTypes/v4-8").type_


def test_an_operation_answers_in_the_version_it_was_begun_in(address: str) -> None:
    """The service of operations is one for all versions; the library insists on its own types."""
    with grpc.insecure_channel(address) as channel:
        client = tpu_v2alpha1.TpuClient(transport=AlphaTransport(channel=channel))

        node = client.create_node(parent=PARENT, node_id="alpha", node=ALPHA).result(PATIENCE_S)
        client.delete_node(name=node.name).result(PATIENCE_S)

    assert isinstance(node, tpu_v2alpha1.Node)


def test_the_asynchronous_client_works_too(address: str) -> None:
    """Over ``grpc.aio``."""

    async def live() -> list[str]:
        async with grpc.aio.insecure_channel(address) as channel:
            client = tpu_v2.TpuAsyncClient(transport=TpuGrpcAsyncIOTransport(channel=channel))
            made = await client.create_node(parent=PARENT, node_id="aio", node=NODE)
            node = await made.result(timeout=PATIENCE_S)
            names = [found.name async for found in await client.list_nodes(parent=PARENT)]
            await (await client.delete_node(name=node.name)).result(timeout=PATIENCE_S)
            return names

    assert [f"{PARENT}/nodes/aio"] == asyncio.run(live())


def test_calls_over_grpc_are_in_the_log_of_calls(box: Box, client: tpu_v2.TpuClient) -> None:
    """With who called, as far as that is known."""
    list(client.list_nodes(parent=PARENT))

    calls = box.admin.get("calls")["calls"]
    assert isinstance(calls, list), "the log is a list"
    newest = calls[-1]
    assert ("ListNodes", "gRPC", 200) == (newest["method"], newest["http_method"], newest["status"])
    assert newest["caller"].startswith("grpc-python/")
