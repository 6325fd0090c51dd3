"""The methods of operations, and how every other method answers with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox import render
from sandbox.listing import in_location

if TYPE_CHECKING:
    from sandbox.asked import Ask
    from sandbox.cloud import Cloud
    from sandbox.errors import JsonObject
    from sandbox.resources import Operation

_COLLECTION = "operations"


def started(cloud: Cloud, ask: Ask, operation: Operation) -> JsonObject:
    """Answer with an operation, as it is at the moment."""
    return render.operation(operation, cloud.hosts, ask.version, numbers=ask.wants_numbers)


def read(cloud: Cloud, ask: Ask) -> JsonObject:
    """Read an operation."""
    cloud.check_location(ask.location)
    return started(cloud, ask, cloud.operation(ask.name(_COLLECTION)))


def list_all(cloud: Cloud, ask: Ask) -> JsonObject:
    """List operations."""
    known = {
        name: operation
        for name, operation in cloud.operations.items()
        if not operation.is_forgotten
    }
    return in_location(
        cloud, ask, _COLLECTION, known, lambda name: started(cloud, ask, known[name])
    )


def cancel(cloud: Cloud, ask: Ask) -> JsonObject:
    """Ask for an operation to be given up; it may succeed all the same."""
    cloud.check_location(ask.location)
    cloud.cancel_operation(ask.name(_COLLECTION))
    return {}


def delete(cloud: Cloud, ask: Ask) -> JsonObject:
    """Forget an operation; what it started goes on."""
    cloud.check_location(ask.location)
    cloud.forget_operation(ask.name(_COLLECTION))
    return {}
