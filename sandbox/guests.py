"""Guest attributes: what hosts tell the API, as Compute Engine lets it be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.errors import ApiError, precondition
from sandbox.guest_attributes import SWITCH
from sandbox.nodes import host_of
from sandbox.resources import NodeState, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.cloud import Cloud
    from sandbox.errors import JsonObject
    from sandbox.resources import Host, Node


def attributes_of(
    cloud: Cloud, name: str, *, query_path: str, worker_ids: Sequence[str]
) -> list[JsonObject]:
    """Return one answer for each host that is asked for; all hosts if none is named."""
    node = cloud.node(name)
    if node.state is not NodeState.READY:
        raise precondition(
            f"Node '{short(name)}': guest attributes are not available while in state {node.state}"
        )
    asked = [worker for worker in worker_ids if worker]
    hosts = [host_of(node, worker) for worker in asked] or node.hosts
    return [_answer(node, cloud.host(host), query_path) for host in hosts]


def is_enabled(node: Node) -> bool:
    """Tell whether the node's hosts may write guest attributes."""
    return node.metadata.get(SWITCH, "").upper() == "TRUE"


def _answer(node: Node, host: Host, path: str) -> JsonObject:
    if path and not is_enabled(node):
        raise ApiError(
            "NOT_FOUND", f"The resource '{path}' of type 'Guest Attribute' was not found."
        )
    found = [
        dict(zip(("namespace", "key", "value"), (*key.partition("/")[::2], value), strict=True))
        for key, value in sorted(host.guest_attributes.items())
        if _is_below(key, path)
    ]
    # Also empty: gcloud's ssh does not look whether there is a queryValue.
    return {"queryPath": path, "queryValue": {"items": found}}


def _is_below(key: str, path: str) -> bool:
    """Tell whether a path means a key: ``/`` all, ``/NAMESPACE/`` and ``/NAMESPACE/KEY``."""
    asked = path.removeprefix("/")
    return key.startswith(asked) if asked.endswith("/") else asked in ("", key)
