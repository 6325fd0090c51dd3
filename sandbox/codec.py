"""Between the JSON of the Cloud TPU API and our records.

Google's own message types are the schema: unknown fields, wrong types, enums as names or as
numbers are judged by them, in requests and in answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from google.cloud.tpu_v2 import types
from google.protobuf import json_format

from sandbox.errors import JsonObject, invalid
from sandbox.nodes import NodeUpdate
from sandbox.queued import QueuedRequest
from sandbox.resources import (
    Host,
    Node,
    NodeState,
    NodeWish,
    Operation,
    QueuedResource,
    QueuedState,
)
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from google.protobuf.message import Message

_TYPE = "type.googleapis.com/google.cloud.tpu.v2"
_EMPTY = {"@type": "type.googleapis.com/google.protobuf.Empty"}
_TPU_PORT = 8470
# What a patch may change (the comment of UpdateNodeRequest in Google's client).
_UPDATABLE = ("description", "labels", "tags", "metadata")

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

# --- Requests ---------------------------------------------------------------------------------


def parse_queued_resource(body: object, name: str) -> QueuedRequest:
    """Read the body of a create call.  ``name`` is the queued resource's full name."""
    message = types.QueuedResource.pb(types.QueuedResource())
    _parse(body, message)
    wishes: list[NodeWish] = []
    for spec in message.tpu.node_spec:
        if spec.node.HasField("scheduling_config"):
            raise invalid("node.scheduling_config must not be set in a QueuedResource request.")
        wishes += [_wish(spec.node, node_id) for node_id in _node_ids(spec, name)]
    policy = message.queueing_policy
    return QueuedRequest(
        wishes=tuple(wishes),
        tier=_tier_of_request(message),
        body=_without_output(json_format.MessageToDict(message)),
        valid_for_s=policy.valid_until_duration.ToTimedelta().total_seconds()
        if policy.HasField("valid_until_duration")
        else None,
        valid_until=policy.valid_until_time.ToDatetime(UTC).timestamp()
        if policy.HasField("valid_until_time")
        else None,
    )


def parse_node(body: object, node_id: str) -> tuple[NodeWish, Tier]:
    """Read the body of a call that creates a node by itself."""
    message = types.Node.pb(types.Node())
    _parse(body, message)
    scheduling = message.scheduling_config
    tier = Tier.ON_DEMAND
    if scheduling.spot or scheduling.preemptible:
        tier = Tier.SPOT
    elif scheduling.reserved:
        tier = Tier.RESERVED
    return _wish(message, node_id), tier


def parse_update(body: object, mask: str) -> NodeUpdate:
    """Read the body of a patch: the masked fields, also those that are empty."""
    message = types.Node.pb(types.Node())
    _parse(body, message)
    fields = set(filter(None, mask.split(",")))
    if unknown := fields.difference(_UPDATABLE):
        raise invalid(f"Invalid update_mask: '{min(unknown)}' cannot be updated.")
    if not fields:
        raise invalid("Invalid update_mask: it must not be empty.")
    return NodeUpdate(
        description=message.description if "description" in fields else None,
        labels=dict(message.labels) if "labels" in fields else None,
        tags=tuple(message.tags) if "tags" in fields else None,
        metadata=dict(message.metadata) if "metadata" in fields else None,
    )


# --- Answers ----------------------------------------------------------------------------------


def render_queued_resource(queued: QueuedResource) -> JsonObject:
    """Render a queued resource as version 2 of the API does."""
    state: JsonObject = {"state": queued.state.value, "stateInitiator": queued.initiator.value}
    if queued.state in _STATE_DATA:
        data = {"error": queued.error} if queued.state is QueuedState.FAILED else {}
        state[_STATE_DATA[queued.state]] = data
    return {
        **queued.body,
        "name": queued.name,
        "createTime": timestamp(queued.created_at),
        "state": state,
    }


def render_node(node: Node, hosts: Mapping[str, Host]) -> JsonObject:
    """Render a node as version 2 of the API does; int64 numbers are strings."""
    rendered: JsonObject = {
        **node.spec.wish.body,
        "name": node.name,
        "id": str(node.id),
        "state": node.state.value,
        "health": node.health,
        "healthDescription": node.health_description,
        "apiVersion": "V2",
        "createTime": timestamp(node.created_at),
        "description": node.description,
        "labels": dict(node.labels),
        "tags": list(node.tags),
        "metadata": dict(node.metadata),
        "schedulingConfig": _scheduling(node.spec.tier),
        "queuedResource": node.queued_resource,
    }
    if node.state is not NodeState.CREATING:
        rendered["networkEndpoints"] = [
            {"ipAddress": hosts[name].ip, "port": _TPU_PORT} for name in node.hosts if name in hosts
        ]
    return {key: value for key, value in rendered.items() if value not in ("", {}, [])}


def render_operation(operation: Operation, hosts: Mapping[str, Host]) -> JsonObject:
    """Render an operation; what a finished one made bears its type."""
    metadata: JsonObject = {
        "@type": f"{_TYPE}.OperationMetadata",
        "createTime": timestamp(operation.created_at),
        "target": operation.target,
        "verb": operation.verb,
        "cancelRequested": False,
        "apiVersion": "v2",
    }
    rendered: JsonObject = {"name": operation.name, "metadata": metadata, "done": False}
    if operation.ended_at is None:
        return rendered
    metadata["endTime"] = timestamp(operation.ended_at)
    rendered["done"] = True
    if operation.error is not None:
        return {**rendered, "error": operation.error}
    return {**rendered, "response": _render_result(operation.result, hosts)}


def with_numbers(rendered: JsonObject, kind: str) -> JsonObject:
    """Turn enum names to numbers, as ``enum-encoding=int`` asks; ``kind`` is the message."""
    proto_type = getattr(types, kind)
    message = proto_type.pb(proto_type())
    json_format.ParseDict(rendered, message)
    numbered: JsonObject = json_format.MessageToDict(message, use_integers_for_enums=True)
    return numbered


def operation_with_numbers(rendered: JsonObject) -> JsonObject:
    """Do the same for what an operation made."""
    response = rendered.get("response")
    if not isinstance(response, dict) or response == _EMPTY:
        return rendered
    made = {key: value for key, value in response.items() if key != "@type"}
    kind = str(response["@type"])
    numbered = with_numbers(made, kind.rpartition(".")[2])
    return {**rendered, "response": {"@type": kind, **numbered}}


def timestamp(at: float) -> str:
    """Render a time as Google does."""
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


# --- Helpers ----------------------------------------------------------------------------------


def _parse(body: object, message: Message) -> None:
    if not isinstance(body, dict):
        raise invalid("Invalid JSON payload received. Expected an object.")
    try:
        json_format.ParseDict(body, message)
    except json_format.ParseError as error:
        raise invalid(f"Invalid JSON payload received. {error}") from None


def _wish(node: types.Node, node_id: str) -> NodeWish:
    """Read a node.  Its type is the message behind ``types.Node``, with the same fields."""
    body = json_format.MessageToDict(node)
    return NodeWish(
        node_id=node_id,
        accelerator_type=node.accelerator_type,
        runtime_version=node.runtime_version,
        description=node.description,
        labels=dict(node.labels),
        tags=tuple(node.tags),
        metadata=dict(node.metadata),
        body=_without_output(body),
    )


def _node_ids(spec: types.QueuedResource.Tpu.NodeSpec, name: str) -> list[str]:
    """Return the ids of the nodes that one node spec asks for."""
    if not spec.HasField("multislice_params"):
        return [spec.node_id]
    params = spec.multislice_params
    if params.node_count < 2:  # noqa: PLR2004 - Google's own limit
        raise invalid("multislice_params.node_count must be greater than 1.")
    prefix = params.node_id_prefix or name.rpartition("/")[2]
    return [f"{prefix}-{index}" for index in range(params.node_count)]


def _tier_of_request(message: types.QueuedResource) -> Tier:
    if message.HasField("spot"):
        return Tier.SPOT
    if message.HasField("guaranteed") or message.reservation_name:
        return Tier.RESERVED
    return Tier.ON_DEMAND


def _scheduling(tier: Tier) -> JsonObject:
    if tier is Tier.ON_DEMAND:
        return {}
    return {"spot": True} if tier is Tier.SPOT else {"reserved": True}


def _without_output(body: JsonObject) -> JsonObject:
    """Drop what only the service may say."""
    output = {"name", "state", "createTime", "id", "health", "networkEndpoints", "apiVersion"}
    return {key: value for key, value in body.items() if key not in output}


def _render_result(result: QueuedResource | Node | None, hosts: Mapping[str, Host]) -> JsonObject:
    if isinstance(result, QueuedResource):
        return {"@type": f"{_TYPE}.QueuedResource", **render_queued_resource(result)}
    if isinstance(result, Node):
        return {"@type": f"{_TYPE}.Node", **render_node(result, hosts)}
    return dict(_EMPTY)
