"""The methods of nodes: from what is asked to what the cloud does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import codec, guests, render, schema
from sandbox.listing import in_location
from sandbox.methods_operations import started

if TYPE_CHECKING:
    from sandbox.asked import Ask
    from sandbox.cloud import Cloud
    from sandbox.errors import JsonObject

_COLLECTION = "nodes"


def create(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start to create a node by itself."""
    wish, tier = codec.parse_node(ask.body, ask.required("nodeId"), ask.version)
    operation = cloud.create_node(ask.location, wish, tier, request_id=ask.request_id)
    return started(cloud, ask, operation)


def read(cloud: Cloud, ask: Ask) -> JsonObject:
    """Read a node."""
    cloud.check_location(ask.location)
    found = cloud.node(ask.name(_COLLECTION))
    return render.node(found, cloud.hosts, ask.version, numbers=ask.wants_numbers)


def list_all(cloud: Cloud, ask: Ask) -> JsonObject:
    """List nodes."""

    def show(name: str) -> JsonObject:
        return render.node(cloud.nodes[name], cloud.hosts, ask.version, numbers=ask.wants_numbers)

    return in_location(cloud, ask, _COLLECTION, cloud.nodes, show)


def update(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start to replace fields of a node."""
    cloud.check_location(ask.location)
    changes = codec.parse_update(ask.body, ask.params.get("updateMask", ""), ask.version)
    return started(cloud, ask, cloud.update_node(ask.name(_COLLECTION), changes))


def delete(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start to delete a node."""
    cloud.check_location(ask.location)
    operation = cloud.delete_node(ask.name(_COLLECTION), request_id=ask.request_id)
    return started(cloud, ask, operation)


def start(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start to start a node that was stopped."""
    cloud.check_location(ask.location)
    return started(cloud, ask, cloud.upkeep.start(ask.name(_COLLECTION)))


def stop(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start to stop a node."""
    cloud.check_location(ask.location)
    return started(cloud, ask, cloud.upkeep.stop(ask.name(_COLLECTION)))


def get_guest_attributes(cloud: Cloud, ask: Ask) -> JsonObject:
    """Read what the hosts have told, one entry a host."""
    cloud.check_location(ask.location)
    message = schema.parse(ask.body, ask.version, "GetGuestAttributesRequest")
    body = schema.as_json(message)
    return {
        "guestAttributes": guests.attributes_of(
            cloud,
            ask.name(_COLLECTION),
            query_path=str(body.get("queryPath", "")),
            worker_ids=list(message.worker_ids),  # type: ignore[attr-defined]  # made at run time
        )
    }


def simulate_maintenance(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start a maintenance event on some hosts; on the first one if none is named."""
    cloud.check_location(ask.location)
    message = schema.parse(ask.body, ask.version, "SimulateMaintenanceEventRequest")
    workers = tuple(message.worker_ids)  # type: ignore[attr-defined]  # made at run time
    operation = cloud.upkeep.simulate_event(ask.name(_COLLECTION), workers or ("0",))
    return started(cloud, ask, operation)


def perform_maintenance(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start the announced maintenance of a node now."""
    cloud.check_location(ask.location)
    return started(cloud, ask, cloud.upkeep.maintain(ask.name(_COLLECTION)))
