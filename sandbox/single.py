"""Nodes that are made and deleted by themselves, without a queued resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sandbox import admission, room
from sandbox.errors import precondition
from sandbox.resources import Initiator, NodeState, short, zone_of

if TYPE_CHECKING:
    from sandbox.ledger import Ledger
    from sandbox.nodes import NodePool
    from sandbox.queued import Queue
    from sandbox.resources import Node, NodeWish, Operation
    from shared.core.catalog import Tier


class SingleNodes:
    """Creates and deletes of one node; a timer's detail is the node's id."""

    def __init__(self, ledger: Ledger, pool: NodePool, queue: Queue) -> None:
        self._ledger = ledger
        self._pool = pool
        self._queue = queue
        self.handlers: Mapping[str, Callable[[str, str], None]] = {
            "node-deleted": self._deleted,
            "node-refused": self._refused,
        }

    def create(self, location: str, wish: NodeWish, tier: Tier) -> Operation:
        """Start to create a node; without capacity the operation will end with a stockout."""
        admission.check_location(self._ledger, location)
        spec = admission.admit_node(self._ledger, location, wish, tier)
        admission.check_names_free(self._ledger, location, (spec,))
        admission.check_quota(self._ledger, location, (spec,))
        has_room = room.has_room(self._ledger, zone_of(location), (spec,))
        node = self._pool.create(location, spec)
        operation = self._ledger.start_operation("create", node.name)
        takes_s = self._ledger.duration_of("CreateNode", self._ledger.settings.provisioning_s)
        if has_room:
            self._ledger.after(takes_s, "node-ready", node.name)
        else:
            self._ledger.after(takes_s, "node-refused", node.name, str(node.id))
        return operation

    def delete(self, name: str) -> Operation:
        """Start to delete a node; its queued resource, if any, is suspended by it.

        Raises FAILED_PRECONDITION for one of several that were asked for as one.
        """
        node = self._pool.get(name)
        if node.queued_resource and node.spec.wish.is_multislice:
            raise precondition(
                f"Node '{short(name)}' belongs to a multislice group and cannot be deleted by "
                f"itself; delete queued resource '{short(node.queued_resource)}'."
            )
        self._pool.start_delete(name)
        operation = self._ledger.start_operation("delete", name)
        if node.queued_resource:
            self._queue.suspend(node.queued_resource, Initiator.USER)
        takes_s = self._ledger.duration_of("DeleteNode", self._ledger.settings.delete_s)
        self._ledger.after(takes_s, "node-deleted", name, str(node.id))
        return operation

    def _deleted(self, name: str, node_id: str) -> None:
        if self._still(name, node_id):
            self._pool.remove(name)

    def _refused(self, name: str, node_id: str) -> None:
        """Let a node for which there was no room be gone; its operation says why."""
        node = self._still(name, node_id)
        if node is None or node.state is not NodeState.CREATING:
            return
        error = room.sold_out(zone_of(name), node.spec.tier)
        for operation in self._ledger.open_operations("create", name):
            self._ledger.end_operation(operation, error=error)
        self._pool.remove(name)

    def _still(self, name: str, node_id: str) -> Node | None:
        """Return the node that was meant, and not a later one of its name."""
        node = self._ledger.nodes.get(name)
        return node if node is not None and str(node.id) == node_id else None
