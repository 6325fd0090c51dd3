"""From our records to the JSON of the Cloud TPU API, as each version of it shows them.

What a version does not know is left out by its message type, so that nothing here has to ask
which version it is, but for the words that were renamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from sandbox import schema, shapes
from sandbox.errors import JsonObject
from sandbox.resources import (
    Host,
    Node,
    NodeState,
    Operation,
    QueuedResource,
    QueuedState,
)
from shared.core.catalog import Tier

_EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}
_OPERATION_TYPE = "type.googleapis.com/google.cloud.tpu.{version}.OperationMetadata"
_TPU_PORT = 8470
_WITHOUT_ADDRESS = frozenset({NodeState.CREATING, NodeState.STOPPED})
# The member of the state's oneof that each state comes with; WAITING has none.
_STATE_DATA = {
    QueuedState.CREATING: "creatingData",
    QueuedState.PROVISIONING: "provisioningData",
    QueuedState.ACTIVE: "activeData",
    QueuedState.SUSPENDING: "suspendingData",
    QueuedState.SUSPENDED: "suspendedData",
    QueuedState.FAILED: "failedData",
    QueuedState.DELETING: "deletingData",
}
_MAINTENANCE_WORDS = {"maintenanceType": "type"}
_SCHEDULING: Mapping[Tier, JsonObject] = {
    Tier.SPOT: {"spot": True},
    Tier.RESERVED: {"reserved": True},
    Tier.ON_DEMAND: {},
}


def queued_resource(
    queued: QueuedResource, version: str = "v2", *, numbers: bool = False
) -> JsonObject:
    """Render a queued resource."""
    state: JsonObject = {"state": queued.state.value, "stateInitiator": queued.initiator.value}
    if queued.state in _STATE_DATA:
        data = {"error": queued.error} if queued.state is QueuedState.FAILED else {}
        state[_STATE_DATA[queued.state]] = data
    rendered: JsonObject = {
        **schema.spelled(queued.body, version),
        "name": queued.name,
        "createTime": timestamp(queued.created_at),
        "state": state,
    }
    return schema.shown(rendered, version, "QueuedResource", numbers=numbers)


def node(
    node: Node, hosts: Mapping[str, Host], version: str = "v2", *, numbers: bool = False
) -> JsonObject:
    """Render a node; a host that is gone has no endpoint."""
    present = [hosts[name] for name in node.hosts if name in hosts]
    rendered: JsonObject = {
        **node.spec.wish.body,
        "name": node.name,
        "acceleratorType": node.spec.accelerator_type,
        "id": str(node.id),
        "state": node.state.value,
        "health": node.health,
        "healthDescription": node.health_description,
        # The other versions have no word for version 2.
        "apiVersion": "V2" if version == "v2" else "V2_ALPHA1",
        "createTime": timestamp(node.created_at),
        "description": node.description,
        "labels": dict(node.labels),
        "tags": list(node.tags),
        "metadata": dict(node.metadata),
        "dataDisks": list(node.data_disks),
        "networkConfig": _network(node),
        "networkEndpoints": _endpoints(node, present),
        "schedulingConfig": node.spec.wish.scheduling or _SCHEDULING[node.spec.tier],
        "queuedResource": node.queued_resource,
        "multisliceNode": node.spec.wish.is_multislice,
        "acceleratorConfig": shapes.config_of(node.spec.accelerator_type, node.spec.chips),
        "upcomingMaintenance": _maintenance(present),
    }
    if version == "v1":
        rendered |= _old_words(node, present)
    known = {key: value for key, value in rendered.items() if value not in ("", [], {}, None)}
    return schema.shown(known, version, "Node", numbers=numbers)


def operation(
    operation: Operation, hosts: Mapping[str, Host], version: str = "v2", *, numbers: bool = False
) -> JsonObject:
    """Render an operation; what a finished one made bears its type."""
    metadata: JsonObject = {
        "@type": _OPERATION_TYPE.format(version=version),
        "createTime": timestamp(operation.created_at),
        "target": operation.target,
        "verb": operation.verb,
        "cancelRequested": operation.is_cancel_requested,
        "apiVersion": version,
    }
    rendered: JsonObject = {"name": operation.name, "metadata": metadata, "done": False}
    if operation.ended_at is None:
        return rendered
    metadata["endTime"] = timestamp(operation.ended_at)
    rendered["done"] = True
    if operation.error is not None:
        return {**rendered, "error": operation.error}
    return {**rendered, "response": _made(operation.result, hosts, version, numbers=numbers)}


def timestamp(at: float) -> str:
    """Render a time as Google does."""
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


# --- Helpers ----------------------------------------------------------------------------------


def _made(
    result: QueuedResource | Node | None, hosts: Mapping[str, Host], version: str, *, numbers: bool
) -> JsonObject:
    """Show what an operation made, with its type: without that, clients refuse it."""
    if isinstance(result, QueuedResource):
        shown = queued_resource(result, version, numbers=numbers)
        return {"@type": schema.type_url(version, "QueuedResource"), **shown}
    if isinstance(result, Node):
        shown = node(result, hosts, version, numbers=numbers)
        return {"@type": schema.type_url(version, "Node"), **shown}
    return dict(_EMPTY)


def _network(node: Node) -> JsonObject:
    project = node.name.split("/")[1]
    asked = node.spec.wish.body.get("networkConfig")
    default = f"projects/{project}/global/networks/default"
    return {
        **({"network": default} if not asked else {}),
        **(asked if isinstance(asked, dict) else {}),
        "enableExternalIps": node.external_ips,
    }


def _endpoints(node: Node, hosts: list[Host]) -> list[JsonObject]:
    if node.state in _WITHOUT_ADDRESS:
        return []
    return [
        {
            "ipAddress": host.ip,
            "port": _TPU_PORT,
            **({"accessConfig": {"externalIp": host.ip}} if node.external_ips else {}),
        }
        for host in hosts
    ]


def _maintenance(hosts: list[Host]) -> JsonObject | None:
    """Show the window of the first host that has one: metadata's words, the API's spelling."""
    window = next((host.upcoming_maintenance for host in hosts if host.upcoming_maintenance), None)
    if window is None:
        return None
    shown: JsonObject = {}
    for key, value in window.items():
        word = schema.camel(key.replace("-", "_"))
        entry: JsonObject = {_MAINTENANCE_WORDS.get(word, word): value}
        if word == "canReschedule":
            entry = {word: value.upper() == "TRUE"}
        # Whoever announces it may write what he likes; the API shows what it has words for.
        if schema.fits(entry, "v2alpha1", "UpcomingMaintenance"):
            shown |= entry
    return shown


def _old_words(node: Node, hosts: list[Host]) -> JsonObject:
    """Say what version 1 said otherwise."""
    account = node.spec.wish.body.get("serviceAccount")
    return {
        "tensorflowVersion": node.spec.wish.runtime_version,
        "ipAddress": hosts[0].ip if hosts else "",
        "port": str(_TPU_PORT),
        "network": _network(node)["network"],
        "serviceAccount": account.get("email", "") if isinstance(account, dict) else "",
        "networkEndpoints": [{"ipAddress": host.ip, "port": _TPU_PORT} for host in hosts],
    }


def location(project: str, zone: str) -> JsonObject:
    """Render a location."""
    return {
        "name": f"projects/{project}/locations/{zone}",
        "locationId": zone,
        "displayName": zone,
        "labels": {"cloud.googleapis.com/region": zone.rpartition("-")[0]},
    }
