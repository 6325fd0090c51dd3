"""The methods of queued resources: from what is asked to what the cloud does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import codec, render, schema
from sandbox.listing import in_location
from sandbox.methods_operations import started

if TYPE_CHECKING:
    from sandbox.asked import Ask
    from sandbox.cloud import Cloud
    from sandbox.errors import JsonObject

_COLLECTION = "queuedResources"


def create(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start to create a queued resource."""
    name = f"{ask.location}/{_COLLECTION}/{ask.required('queuedResourceId')}"
    operation = cloud.create_queued_resource(
        name,
        codec.parse_queued_resource(ask.body, name, ask.version),
        request_id=ask.request_id,
        failing=ask.failing,
    )
    return started(cloud, ask, operation)


def read(cloud: Cloud, ask: Ask) -> JsonObject:
    """Read a queued resource."""
    cloud.check_location(ask.location)
    found = cloud.queued_resource(ask.name(_COLLECTION))
    return render.queued_resource(found, ask.version, numbers=ask.wants_numbers)


def list_all(cloud: Cloud, ask: Ask) -> JsonObject:
    """List queued resources."""
    queued = cloud.queued_resources

    def show(name: str) -> JsonObject:
        return render.queued_resource(queued[name], ask.version, numbers=ask.wants_numbers)

    return in_location(cloud, ask, _COLLECTION, queued, show)


def delete(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start to delete a queued resource."""
    cloud.check_location(ask.location)
    operation = cloud.delete_queued_resource(
        ask.name(_COLLECTION), force=ask.is_forced, request_id=ask.request_id
    )
    return started(cloud, ask, operation)


def reset(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start to reset the nodes of a queued resource."""
    cloud.check_location(ask.location)
    return started(cloud, ask, cloud.upkeep.reset(ask.name(_COLLECTION)))


def perform_maintenance(cloud: Cloud, ask: Ask) -> JsonObject:
    """Start the announced maintenance of some nodes of a queued resource."""
    cloud.check_location(ask.location)
    kind = "PerformMaintenanceQueuedResourceRequest"
    message = schema.parse(ask.body, ask.version, kind)
    names = tuple(message.node_names)  # type: ignore[attr-defined]  # made at run time
    operation = cloud.upkeep.maintain_some(ask.name(_COLLECTION), names)
    return started(cloud, ask, operation)
