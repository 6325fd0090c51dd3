"""Cloud TPU's messages as the port shows them.

Multislice requests are read as well, although none is made yet. States keep Google's names.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from google.cloud import tpu_v2

from shared.adapters.tpu_errors import describe
from shared.ports import CloudNode, CloudRequest


def request_of(queued: tpu_v2.QueuedResource, nodes: Iterable[tpu_v2.Node]) -> CloudRequest:
    """Show a queued resource with those of its nodes that were found."""
    error = queued.state.failed_data.error
    return CloudRequest(
        name=last_of(queued.name),
        zone=part_of(queued.name, "locations"),
        state=_name_of(queued.state.state),
        reason=describe(error.code, error.message) if error.code else "",
        initiator=_name_of(queued.state.state_initiator),
        nodes=tuple(_cloud_node(node) for node in nodes),
        labels={
            key: value for spec in queued.tpu.node_spec for key, value in spec.node.labels.items()
        },
    )


def _cloud_node(node: tpu_v2.Node) -> CloudNode:
    return CloudNode(
        name=last_of(node.name),
        zone=part_of(node.name, "locations"),
        uid=f"{node.id}@{_time_text(node.create_time)}",
        state=_name_of(node.state),
        health=_name_of(node.health),
        hosts=len(node.network_endpoints),
        labels=dict(node.labels),
    )


def node_names(queued: tpu_v2.QueuedResource) -> list[str]:
    """Name the nodes of a request; those of a multislice are numbered."""
    names: list[str] = []
    for spec in queued.tpu.node_spec:
        count = spec.multislice_params.node_count
        prefix = spec.multislice_params.node_id_prefix or last_of(queued.name)
        names += [f"{prefix}-{number}" for number in range(count)] if count else [spec.node_id]
    return names


def _time_text(when: Any) -> str:
    """Write a time of proto-plus, whose stubs show it as the plain message."""
    assert isinstance(when, datetime), "proto-plus turns timestamps into datetimes"
    return when.isoformat()


def _name_of(value: Any) -> str:
    """Name an enum's value; an unspecified one is "", one from the future its number."""
    name = str(getattr(value, "name", value))
    return "" if name.endswith("_UNSPECIFIED") else name


def last_of(name: str) -> str:
    """Return the id at the end of a resource name."""
    return name.rpartition("/")[2]


def part_of(name: str, collection: str) -> str:
    """Return the id that follows a collection in a resource name."""
    return name.partition(f"{collection}/")[2].partition("/")[0]
