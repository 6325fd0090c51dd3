"""From the JSON of the Cloud TPU API to our records: what requests ask for.

Google's own message types are the schema (``schema.py``); here stands what they mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.timestamp_pb2 import Timestamp

from sandbox import schema
from sandbox.errors import JsonObject, bad_field, invalid
from sandbox.nodes import NodeUpdate
from sandbox.queued_request import QueuedRequest
from sandbox.resources import NodeWish, location_of
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a patch may change (the comment of UpdateNodeRequest in Google's client); gcloud attaches
# and detaches disks by it, too.
UPDATABLE = (
    "description",
    "labels",
    "tags",
    "metadata",
    "network_config.enable_external_ips",
    "data_disks",
)
# Ours: Google names no limit, but a quota is always below it.
NODES_MAX = 1000
# What only the service may say.
_OUTPUT = frozenset(
    {
        "apiVersion",
        "createTime",
        "health",
        "healthDescription",
        "id",
        "multisliceNode",
        "name",
        "networkEndpoints",
        "queuedResource",
        "state",
        "symptoms",
        "upcomingMaintenance",
    }
)
_SPOT_SHOWN: Mapping[str, JsonObject] = {
    "spot": {"spot": True},
    "best_effort": {"preemptible": True},
}

# The messages are made at run time, from descriptors: mypy knows nothing of their fields.
_Message = Any


def parse_queued_resource(body: object, name: str, version: str = "v2") -> QueuedRequest:
    """Read the body of a create call.  ``name`` is the queued resource's full name."""
    message: _Message = schema.parse(body, version, "QueuedResource")
    tier, scheduling = _terms_of_request(message, version)
    wishes: list[NodeWish] = []
    for index, spec in enumerate(message.tpu.node_spec):
        place = f"tpu.node_spec[{index}]"
        _check_spec(spec, place, name)
        ids = _node_ids(spec, place, name, version)
        wishes += [_wish(spec.node, node_id, scheduling, is_one_of=len(ids)) for node_id in ids]
    return QueuedRequest(
        wishes=tuple(wishes),
        tier=tier,
        body=schema.spelled(_without_output(schema.as_json(message)), "v2"),
        run_for_s=_seconds(message.run_duration.max_run_duration)
        if version == "v2alpha1" and message.run_duration.HasField("max_run_duration")
        else None,
        is_flex_start=_model_of(message, version) == "FLEX_START",
        **_window(message.queueing_policy),
    )


def parse_node(body: object, node_id: str, version: str = "v2") -> tuple[NodeWish, Tier]:
    """Read the body of a call that creates a node by itself."""
    message: _Message = schema.parse(body, version, "Node")
    scheduling = message.scheduling_config
    tier = Tier.ON_DEMAND
    model = _model_of(scheduling, version)
    if scheduling.spot or scheduling.preemptible or model == "SPOT":
        tier = Tier.SPOT
    elif scheduling.reserved or model == "RESERVATION_BOUND":
        tier = Tier.RESERVED
    shown = schema.as_json(scheduling) if message.HasField("scheduling_config") else {}
    return _wish(message, node_id, shown), tier


def parse_update(body: object, mask: str, version: str = "v2") -> NodeUpdate:
    """Read the body of a patch: the masked fields, also those that are empty."""
    message: _Message = schema.parse(body, version, "Node")
    fields = {schema.snake(path.strip()) for path in mask.split(",") if path.strip()}
    if unknown := fields.difference(UPDATABLE):
        text = f"Invalid update_mask: '{min(unknown)}' cannot be updated."
        raise bad_field("update_mask", text)
    if not fields:
        raise bad_field("update_mask", "Invalid update_mask: it must not be empty.")
    external_ips = message.network_config.enable_external_ips
    return NodeUpdate(
        description=message.description if "description" in fields else None,
        labels=dict(message.labels) if "labels" in fields else None,
        tags=tuple(message.tags) if "tags" in fields else None,
        metadata=dict(message.metadata) if "metadata" in fields else None,
        external_ips=external_ips if UPDATABLE[4] in fields else None,
        data_disks=tuple(map(schema.as_json, message.data_disks))
        if "data_disks" in fields
        else None,
    )


# --- What requests for several nodes say ------------------------------------------------------


def _check_spec(spec: _Message, place: str, name: str) -> None:
    """Refuse what a node of a queued resource must not say."""
    if spec.node.HasField("scheduling_config"):
        raise bad_field(
            f"{place}.node.scheduling_config",
            "node.scheduling_config must not be set in a QueuedResource request.",
        )
    if spec.parent != location_of(name):
        raise bad_field(
            f"{place}.parent",
            f"Invalid parent '{spec.parent}': it must be '{location_of(name)}', the location of "
            "the queued resource.",
        )


def _node_ids(spec: _Message, place: str, name: str, version: str) -> list[str]:
    """Return the ids of the nodes that one node spec asks for."""
    # Only version 2 has them as alternatives in its schema.
    several = schema.snake(schema.SEVERAL[version])
    if not spec.HasField(several):
        if not spec.node_id:
            raise bad_field(f"{place}.node_id", f"Missing required field '{place}.node_id'.")
        return [spec.node_id]
    if spec.node_id:
        raise bad_field(place, f"Only one of node_id and {several} may be set.")
    params = getattr(spec, several)
    if params.node_count < 2:  # noqa: PLR2004 - Google's own limit
        raise bad_field(
            f"{place}.{several}.node_count", f"{several}.node_count must be greater than 1."
        )
    if params.node_count > NODES_MAX:
        raise bad_field(
            f"{place}.{several}.node_count",
            f"{several}.node_count must not be greater than {NODES_MAX}.",
        )
    prefix = params.node_id_prefix or name.rpartition("/")[2]
    return [f"{prefix}-{index}" for index in range(params.node_count)]


def _window(policy: _Message) -> dict[str, float | None]:
    """Read when the request may be served; durations count from the call."""
    interval = policy.valid_interval if policy.HasField("valid_interval") else None
    return {
        "valid_for_s": _seconds(policy.valid_until_duration)
        if policy.HasField("valid_until_duration")
        else None,
        "valid_until": _time(interval.end_time if interval else policy.valid_until_time),
        "valid_after_s": _seconds(policy.valid_after_duration)
        if policy.HasField("valid_after_duration")
        else None,
        "valid_after": _time(interval.start_time if interval else policy.valid_after_time),
    }


def _terms_of_request(message: _Message, version: str) -> tuple[Tier, JsonObject]:
    """Return the tier, and what the nodes show of it.

    Best effort is preemptible, and counts as spot does; so does flex-start.
    """
    model = _model_of(message, version)
    which = message.WhichOneof("tier")
    if model == "FLEX_START":
        if which in _SPOT_SHOWN:
            raise invalid(f"provisioning_model FLEX_START cannot be combined with {which}.")
        return Tier.SPOT, {"provisioningModel": "STANDARD"}
    if which in _SPOT_SHOWN:
        return Tier.SPOT, dict(_SPOT_SHOWN[which])
    if model == "SPOT":
        return Tier.SPOT, {"spot": True}
    # Version 2 has no field that says reserved: asking for a guarantee is all there is.
    is_reserved = which == "guaranteed" and (version == "v2" or message.guaranteed.reserved)
    if is_reserved or message.reservation_name or model == "RESERVATION_BOUND":
        return Tier.RESERVED, {"reserved": True}
    return Tier.ON_DEMAND, {}


# --- Helpers ----------------------------------------------------------------------------------


def _wish(node: _Message, node_id: str, scheduling: JsonObject, *, is_one_of: int = 1) -> NodeWish:
    return NodeWish(
        node_id=node_id,
        accelerator_type=node.accelerator_type,
        accelerator_config=schema.as_json(node.accelerator_config),
        runtime_version=node.runtime_version,
        description=node.description,
        labels=dict(node.labels),
        tags=tuple(node.tags),
        metadata=dict(node.metadata),
        body=_without_output(schema.as_json(node)),
        scheduling=scheduling,
        is_multislice=is_one_of > 1,
        external_ips=not node.HasField("network_config") or node.network_config.enable_external_ips,
        data_disks=tuple(map(schema.as_json, node.data_disks)),
    )


def _model_of(message: _Message, version: str) -> str:
    """Return the provisioning model's name; only the newest version has it."""
    if version != "v2alpha1":
        return ""
    names = message.DESCRIPTOR.fields_by_name["provisioning_model"].enum_type.values_by_number
    number = message.provisioning_model
    if number not in names:
        text = f"Invalid value at 'provisioning_model' (TYPE_ENUM), {number}"
        raise bad_field("provisioning_model", text)
    return str(names[number].name)


def _without_output(body: JsonObject) -> JsonObject:
    return {key: value for key, value in body.items() if key not in _OUTPUT}


def _seconds(duration: _Message) -> float:
    return float(duration.ToTimedelta().total_seconds())


def _time(moment: _Message) -> float | None:
    """Return a moment; the beginning of 1970 is what is not set."""
    found = Timestamp(seconds=moment.seconds, nanos=moment.nanos)
    return found.ToNanoseconds() / 1e9 or None
