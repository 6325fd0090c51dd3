"""Nodes that others made: found by their own names, and deleted only as the very ones meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import uuid4

from google.api_core import exceptions as api
from google.cloud import tpu_v2

from shared.adapters.tpu_calls import CALL, translated
from shared.adapters.tpu_shapes import last_of, node_of, request_of_node
from shared.core.names import parse_cloud_name
from shared.ports import CloudRequest


@dataclass(frozen=True, slots=True)
class OtherNodes:
    """The nodes of one project that are not ours."""

    client: tpu_v2.TpuClient
    project: str

    def find(self, zone: str, node: str) -> CloudRequest | None:
        """Read a node with the state of the request that it came from."""
        with translated(zone):
            found = self._node(zone, node)
            if found is None:
                return None
            return request_of_node(found, self._request(found))

    def remove(self, zone: str, node: str, uid: str) -> None:
        """Delete a node, with its request, if it still is the one meant."""
        with translated(zone):
            found = self._node(zone, node)
            if found is None or node_of(found).uid != uid:
                return
            request_id = str(uuid4())
            if not found.queued_resource:
                order = tpu_v2.DeleteNodeRequest(name=found.name)
                self.client.delete_node(order, **CALL)
                return
            self.client.delete_queued_resource(
                tpu_v2.DeleteQueuedResourceRequest(
                    name=found.queued_resource, request_id=request_id, force=True
                ),
                **CALL,
            )

    def _node(self, zone: str, name: str) -> tpu_v2.Node | None:
        path = f"projects/{self.project}/locations/{zone}/nodes/{name}"
        try:
            return self.client.get_node(name=path, **CALL)
        except api.NotFound:
            return None

    def _request(self, node: tpu_v2.Node) -> tpu_v2.QueuedResource | None:
        if not node.queued_resource:
            return None
        try:
            return self.client.get_queued_resource(name=node.queued_resource, **CALL)
        except api.NotFound:
            return None


def others_among(
    nodes: Iterable[tpu_v2.Node], queued: Mapping[str, tpu_v2.QueuedResource]
) -> list[CloudRequest]:
    """Show the nodes of a zone whose names are none of ours; requests are by name."""
    return [
        request_of_node(node, queued.get(last_of(node.queued_resource)))
        for node in nodes
        if parse_cloud_name(last_of(node.name)) is None
    ]
