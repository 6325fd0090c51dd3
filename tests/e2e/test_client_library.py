"""Google's own client library on the sandbox, over REST: every method that it has.

Version 2 is spoken by the library itself. It cannot speak REST in version 2alpha1: there its
message types judge what the sandbox answers.
"""

import json
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pytest
from google.api_core import exceptions
from google.cloud import tpu_v2, tpu_v2alpha1
from google.cloud.tpu_v2.services.tpu.transports.base import TpuTransport

from tests.sandboxes import PARENT, PATIENCE_S, Box, eventually, running

LIMIT: Final[dict[str, Any]] = {"timeout": PATIENCE_S}
NODE: Final = tpu_v2.Node(
    accelerator_type="v4-8", runtime_version="tpu-ubuntu2204-base", labels={"a": "b"}
)
KEPT: Final = f"{PARENT}/nodes/kept"
QUEUED: Final = f"{PARENT}/queuedResources/asked"
# What a method is called with, and what shows that it worked; in this order.
Call = tuple[dict[str, Any], Callable[[Any], object]]
_STATE = tpu_v2.Node.State
CALLS: Final[Mapping[str, Call]] = {
    "create_node": (
        {"parent": PARENT, "node": NODE, "node_id": "kept"},
        lambda made: made.result(**LIMIT).state == _STATE.READY,
    ),
    "get_node": ({"name": KEPT}, lambda node: dict(node.labels) == {"a": "b"}),
    "list_nodes": ({"parent": PARENT}, lambda page: KEPT in [node.name for node in page]),
    "update_node": (
        {
            "node": tpu_v2.Node(name=KEPT, labels={"c": "d"}),
            "update_mask": {"paths": ["labels"]},
        },
        lambda made: dict(made.result(**LIMIT).labels) == {"c": "d"},
    ),
    "stop_node": (
        {"request": {"name": KEPT}},
        lambda made: made.result(**LIMIT).state == _STATE.STOPPED,
    ),
    "start_node": (
        {"request": {"name": KEPT}},
        lambda made: made.result(**LIMIT).state == _STATE.READY,
    ),
    "get_guest_attributes": (
        {"request": {"name": KEPT, "worker_ids": ["0"]}},
        lambda answer: len(answer.guest_attributes) == 1,
    ),
    "delete_node": ({"name": KEPT}, lambda made: made.result(**LIMIT) is not None),
    "create_queued_resource": (
        {
            "parent": PARENT,
            "queued_resource_id": "asked",
            "queued_resource": tpu_v2.QueuedResource(
                spot=tpu_v2.QueuedResource.Spot(),
                tpu=tpu_v2.QueuedResource.Tpu(
                    node_spec=[
                        tpu_v2.QueuedResource.Tpu.NodeSpec(
                            parent=PARENT,
                            multislice_params={"node_count": 2},
                            node=NODE,
                        )
                    ]
                ),
            ),
        },
        lambda made: made.result(**LIMIT).name == QUEUED,
    ),
    "get_queued_resource": (
        {"name": QUEUED},
        lambda queued: queued.tpu.node_spec[0].multislice_params.node_count == 2,
    ),
    "list_queued_resources": (
        {"parent": PARENT},
        lambda page: [queued.name for queued in page] == [QUEUED],
    ),
    "reset_queued_resource": ({"name": QUEUED}, lambda made: made.result(**LIMIT).name == QUEUED),
    "delete_queued_resource": (
        {"request": {"name": QUEUED, "force": True}},
        lambda made: made.result(**LIMIT) is not None,
    ),
    "get_accelerator_type": (
        {"name": f"{PARENT}/acceleratorTypes/v4-16"},
        lambda row: row.accelerator_configs[0].topology == "2x2x2",
    ),
    "list_accelerator_types": (
        {"request": {"parent": PARENT, "page_size": 3, "filter": "type:v4"}},
        lambda pages: "v4-16" in [row.type_ for row in pages],
    ),
    "get_runtime_version": (
        {"name": f"{PARENT}/runtimeVersions/tpu-ubuntu2204-base"},
        lambda row: row.version == "tpu-ubuntu2204-base",
    ),
    "list_runtime_versions": (
        {"parent": PARENT},
        lambda pages: "tpu-ubuntu2204-base" in [row.version for row in pages],
    ),
    "generate_service_identity": (
        {"request": {"parent": PARENT}},
        lambda answer: answer.identity.email.endswith("cloud-tpu.iam.gserviceaccount.com"),
    ),
    "list_locations": (
        {"request": {"name": "projects/sandbox"}},
        lambda answer: PARENT in [row.name for row in answer.locations],
    ),
    "get_location": ({"request": {"name": PARENT}}, lambda row: row.location_id == "us-central2-b"),
    "list_operations": (
        {"request": {"name": PARENT, "filter": "done=true"}},
        lambda answer: len(answer.operations) > 0,
    ),
}
# They need the name of an operation, and have a test of their own.
ON_OPERATIONS: Final = {"get_operation", "cancel_operation", "delete_operation"}


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Give the sandbox that all tests of this file share."""
    with running(tmp_path_factory.mktemp("library")) as box:
        yield box


def test_no_method_of_the_library_is_left_out() -> None:
    """Those that version 2 has, those on operations and locations included."""
    methods = {name for name in dir(TpuTransport) if not name.startswith("_")}
    offered = {name for name in methods & set(dir(tpu_v2.TpuClient)) if name.islower()}

    # These are no methods of the API.
    assert CALLS.keys() | ON_OPERATIONS == offered - {"close", "kind"}


def test_every_method_of_the_library_works(box: Box) -> None:
    """One after the other: they are one life of a node and one of a queued resource."""
    failed = []

    for method, (arguments, worked) in CALLS.items():
        if method == "reset_queued_resource":
            eventually(lambda: "ACTIVE" == box.queued_state("asked"))
        if not worked(getattr(box.tpu, method)(**arguments, **LIMIT)):
            failed.append(method)

    assert [] == failed


def test_operations_can_be_read_cancelled_and_forgotten(box: Box) -> None:
    """By the name that a call returned."""
    made = box.tpu.create_node(parent=PARENT, node=NODE, node_id="brief", **LIMIT)
    request = {"name": made.operation.name}

    assert made.operation.name == box.tpu.get_operation(request, **LIMIT).name
    box.tpu.cancel_operation(request, **LIMIT)
    made.result(**LIMIT)
    box.tpu.delete_operation(request, **LIMIT)

    with pytest.raises(exceptions.NotFound):
        box.tpu.get_operation(request, **LIMIT)


@pytest.mark.parametrize(
    "node, error, words",
    [
        pytest.param(
            {"accelerator_type": "v4-17", "runtime_version": "x"},
            exceptions.BadRequest,
            "v4-17 was not found",
            id="type",
        ),
        pytest.param(
            {"accelerator_type": "v4-8"},
            exceptions.BadRequest,
            "Missing required field 'runtime_version'",
            id="runtime",
        ),
    ],
)
def test_refusals_are_googles_exceptions(
    box: Box, node: dict[str, str], error: type[Exception], words: str
) -> None:
    """With the details that Google gives."""
    with pytest.raises(error, match=words):
        box.tpu.create_node(parent=PARENT, node=tpu_v2.Node(node), node_id="bad", **LIMIT)


@pytest.mark.parametrize(
    "collection, kind",
    [("nodes", tpu_v2alpha1.Node), ("queuedResources", tpu_v2alpha1.QueuedResource)],
)
def test_answers_of_the_newest_version_are_its_messages(
    box: Box, collection: str, kind: type[Any]
) -> None:
    """As the library reads them: nothing that it does not know, enums as names or numbers."""
    box.create_slice(f"read-{collection.lower()}", "true")
    path = f"{box.url}/v2alpha1/{PARENT}/{collection}/read-{collection.lower()}"

    for alt in ("json", "json;enum-encoding=int"):
        with urllib.request.urlopen(f"{path}?%24alt={alt}", timeout=PATIENCE_S) as answer:
            text = answer.read().decode()
        read = kind.from_json(text, ignore_unknown_fields=False)
        assert json.loads(text)["name"] == read.name
        assert read.state
