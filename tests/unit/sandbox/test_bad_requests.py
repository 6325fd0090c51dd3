"""Requests that nobody meant: each is refused in Google's words, and none breaks anything."""

import json
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from sandbox.objects import ObjectStore
from sandbox.server import application
from sandbox.world import World
from tests.clouds import LOCATION, active_cloud, node_body, queued_body, world_of

NODE = f"{LOCATION}/nodes/a"


@pytest.fixture
def http(tmp_path: Path) -> FlaskClient:
    """Give a client of all APIs over a cloud that has one queued resource, ``a``."""
    world = world_of(active_cloud(buckets=["b"]))
    objects = ObjectStore(tmp_path, clock=lambda: 0.0)
    objects.make_bucket("b")
    served = World(world.engine, world.identity, objects, world.publish, world.clock)
    return application(served).test_client()


def flex(model: object) -> object:
    """Ask for a queued resource of a provisioning model."""
    return queued_body("q", {"provisioningModel": model})


BAD_READS = {
    "page token": f"v2/{LOCATION}/nodes?pageToken=%C3%A9",
    "page token of storage": "storage/v1/b/b/o?pageToken=%C3%A9",
    "fields in one another": f"v2/{LOCATION}/nodes?fields={'a(' * 5000}",
    "fields below one another": f"v2/{LOCATION}/nodes?fields={'a/' * 5000}a",
    "page size that is no int32": f"v2/{LOCATION}/nodes?pageSize=99999999999",
    "page size in Python's words": f"v2/{LOCATION}/nodes?pageSize=1_0",
    "another form of answer": f"v2/{LOCATION}/nodes?alt=proto",
}


@pytest.mark.parametrize("path", [pytest.param(BAD_READS[key], id=key) for key in BAD_READS])
def test_bad_query_is_an_invalid_argument(http: FlaskClient, path: str) -> None:
    """Neither an inner error nor an answer to something else."""
    assert 400 == http.get(path).status_code


@pytest.mark.parametrize(
    "collection", ["nodes", "queuedResources", "operations", "acceleratorTypes"]
)
def test_another_project_is_refused_everywhere_at_once(http: FlaskClient, collection: str) -> None:
    """As in each of its zones."""
    assert 403 == http.get(f"v2/projects/other/locations/-/{collection}").status_code


BAD_BODIES = {
    "model of no number": (f"v2alpha1/{LOCATION}/queuedResources?queuedResourceId=q", flex(99)),
    "list for a message": (
        f"v2/{LOCATION}/nodes?nodeId=n",
        node_body(networkConfig=[]),
    ),
    "text for a message": (
        f"v2/{LOCATION}/queuedResources?queuedResourceId=q",
        queued_body("q", {"spot": ""}),
    ),
    "list for a label": (f"v2/{LOCATION}/nodes?nodeId=n", node_body(labels=[])),
    "number for a text": (f"v2/{LOCATION}/nodes?nodeId=n", node_body(description=5)),
    "text for a list": (f"v2/{LOCATION}/nodes?nodeId=n", node_body(tags="")),
    "number in a list": (f"v2/{LOCATION}/nodes?nodeId=n", node_body(tags=["a", 5])),
    "worker of many digits": (f"v2/{NODE}:getGuestAttributes", {"workerIds": ["9" * 5000]}),
    "list for a request": (f"v2/{NODE}:getGuestAttributes", []),
    "what stop does not know": (f"v2/{NODE}:stop", {"bogus": 1}),
    "list for a start": (f"v2/{NODE}:start", [1, 2]),
    "what waiting does not know": (f"v2/{LOCATION}/operations/o:wait", {"bogus": 5}),
    "what cancelling does not know": (f"v2/{LOCATION}/operations/o:cancel", {"bogus": 5}),
    "what an identity does not know": (f"v2/{LOCATION}:generateServiceIdentity", {"bogus": 5}),
    "more nodes than there are": (
        f"v2/{LOCATION}/queuedResources?queuedResourceId=q",
        {
            "tpu": {
                "nodeSpec": [
                    {
                        "parent": LOCATION,
                        "multisliceParams": {"nodeCount": 2_000_000_000},
                        "node": node_body(),
                    }
                ]
            }
        },
    ),
    "request id of another version": (f"v2/{LOCATION}/nodes?nodeId=n&requestId=r", node_body()),
    "metadata of an upload": ("upload/storage/v1/b/b/o?uploadType=resumable", [1]),
}


@pytest.mark.parametrize("key", BAD_BODIES)
def test_bad_body_is_an_invalid_argument_and_has_no_effect(http: FlaskClient, key: str) -> None:
    """Whatever protobuf alone would let pass."""
    path, body = BAD_BODIES[key]
    before = http.get(f"v2/{LOCATION}/queuedResources").json, http.get(f"v2/{NODE}").json

    answer = http.post(path, json=body)

    assert 400 == answer.status_code, answer.text
    after = http.get(f"v2/{LOCATION}/queuedResources").json, http.get(f"v2/{NODE}").json
    assert before == after
    assert {} == http.get(f"v2/{LOCATION}/operations?filter=done=false").json


def test_wrong_kind_names_field_and_value(http: FlaskClient) -> None:
    """In ``details``, too."""
    body = queued_body("q", node=node_body(networkConfig={"network": 5}))

    answer = http.post(f"v2/{LOCATION}/queuedResources?queuedResourceId=q", json=body)

    error = (answer.json or {})["error"]
    place = "tpu.nodeSpec[0].node.networkConfig.network"
    assert f"Invalid value at '{place}' (TYPE_STRING), 5" == error["message"]
    assert place == error["details"][0]["fieldViolations"][0]["field"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 5000 + "1" + "}" * 5000])
@pytest.mark.parametrize("path", [f"v2/{LOCATION}/nodes?nodeId=n", "sandbox/v1/settings"])
def test_what_is_nested_without_end_is_no_json(http: FlaskClient, path: str, text: str) -> None:
    """Wherever JSON is read."""
    send = http.post if "nodes" in path else http.patch

    answer = send(path, data=text, content_type="application/json")

    assert 400 == answer.status_code


def test_request_may_have_ten_mebibytes(http: FlaskClient) -> None:
    """As at Google's front end."""
    body = json.dumps(node_body(description="x" * 11 * 2**20))

    answer = http.post(f"v2/{LOCATION}/nodes?nodeId=n", data=body)

    assert "Request payload size exceeds the limit: 10485760 bytes." in answer.text
