"""The simulated cloud for unit tests: slow delays, a clock that the test moves, seeded chance."""

from collections.abc import Mapping
from random import Random
from typing import Any, cast

from sandbox.cloud import Cloud
from sandbox.engine import Engine
from sandbox.errors import JsonObject
from sandbox.identity import Identity
from sandbox.queued_request import QueuedRequest
from sandbox.resources import NodeWish, QueuedState
from sandbox.service import Service
from sandbox.settings import Settings
from sandbox.world import World
from shared.core.catalog import Tier

Fields = Mapping[str, object]

LOCATION = "projects/sandbox/locations/us-central2-b"
SLOW = Settings(
    create_operation_s=10,
    creating_s=1,
    waiting_s=10,
    provisioning_s=100,
    ready_lag_s=5,
    boot_s=20,
    delete_s=50,
    suspend_s=30,
    patch_s=4,
    metadata_lag_s=1,
    notice_s=30,
)
# When a request made at 0 has become ACTIVE, its nodes READY, and its hosts have booted.
ACTIVE_AT, READY_AT, BOOTED_AT = 121.0, 126.0, 146.0


def make_cloud(**settings: object) -> Cloud:
    """Make a cloud whose clock stands at 0."""
    return Cloud(SLOW.updated(settings), now=0.0, chance=Random(1))


def wish(name: str, **fields: object) -> NodeWish:
    """Wish for a two-host node."""
    values: dict[str, object] = {
        "accelerator_type": "v4-16",
        "runtime_version": "tpu-ubuntu2204-base",
        **fields,
    }
    return NodeWish(node_id=name, **values)  # type: ignore[arg-type]  # a table of fields


def queued_name(name: str) -> str:
    """Return the full name of a queued resource."""
    return f"{LOCATION}/queuedResources/{name}"


def ask(cloud: Cloud, name: str, *, request_id: str = "", fields: Fields | None = None) -> str:
    """Create a queued resource; return the operation's name."""
    request = QueuedRequest((wish(name, **(fields or {})),), Tier.SPOT, body={})
    return cloud.create_queued_resource(queued_name(name), request, request_id=request_id).name


def active_cloud(**settings: object) -> Cloud:
    """Make a cloud with the slice ``a``, whose hosts run."""
    cloud = make_cloud(**settings)
    ask(cloud, "a")
    cloud.advance(BOOTED_AT)
    return cloud


def state(cloud: Cloud, name: str = "a") -> QueuedState:
    """Return the state of a queued resource."""
    return cloud.queued_resource(queued_name(name)).state


def api_of(cloud: Cloud) -> Service:
    """Return the API over a cloud, without a server before it or processes behind it."""
    return Service(world_of(cloud))


def world_of(cloud: Cloud) -> World:
    """Return what the APIs share over a cloud that has nothing behind it."""
    nobody = cast("Any", None)
    now = lambda: cloud.ledger.now  # noqa: E731 - one line for a clock
    return World(Engine(cloud, clock=now), Identity(b"key"), nobody, nobody, now)


def node_body(**fields: object) -> JsonObject:
    """Describe a two-host node as a request does."""
    return {"acceleratorType": "v4-16", "runtimeVersion": "tpu-ubuntu2204-base", **fields}


def queued_body(
    name: str, fields: Fields | None = None, *, node: Fields | None = None
) -> JsonObject:
    """Describe a queued resource of one node as a request does."""
    spec: JsonObject = {"parent": LOCATION, "nodeId": name, "node": node or node_body()}
    return {"tpu": {"nodeSpec": [spec]}, **(fields or {})}


def several_body(word: str, count: int, prefix: str = "") -> JsonObject:
    """Describe a queued resource of several nodes, in the words of a version of the API."""
    params: JsonObject = {"nodeCount": count, **({"nodeIdPrefix": prefix} if prefix else {})}
    spec: JsonObject = {"parent": LOCATION, word: params, "node": node_body()}
    return {"tpu": {"nodeSpec": [spec]}}
