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
        nodes=tuple(node_of(node) for node in nodes),
        labels={
            key: value for spec in queued.tpu.node_spec for key, value in spec.node.labels.items()
        },
    )


def request_of_node(node: tpu_v2.Node, queued: tpu_v2.QueuedResource | None) -> CloudRequest:
    """Show a node under its own name; one that was made directly is as active as it can be."""
    state = queued.state if queued is not None else None
    return CloudRequest(
        name=last_of(node.name),
        zone=part_of(node.name, "locations"),
        state=_name_of(state.state) if state is not None else "ACTIVE",
        reason="",
        initiator=_name_of(state.state_initiator) if state is not None else "",
        nodes=(node_of(node),),
        labels=dict(node.labels),
    )


def node_of(node: tpu_v2.Node) -> CloudNode:
    """Show a node."""
    config = node.scheduling_config
    is_spot = config.spot or config.preemptible
    return CloudNode(
        name=last_of(node.name),
        zone=part_of(node.name, "locations"),
        uid=f"{node.id}@{_time_text(node.create_time)}",
        state=_name_of(node.state),
        health=_name_of(node.health),
        hosts=len(node.network_endpoints),
        labels=dict(node.labels),
        accelerator_type=node.accelerator_type,
        runtime_version=node.runtime_version,
        tier="spot" if is_spot else "reserved" if config.reserved else "on-demand",
        service_account=node.service_account.email,
        request=last_of(node.queued_resource),
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
