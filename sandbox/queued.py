"""What may become of a queued resource.

* CREATING → WAITING_FOR_RESOURCES → PROVISIONING → ACTIVE
* PROVISIONING, ACTIVE → SUSPENDING → SUSPENDED (capacity taken, or a node deleted)
* WAITING_FOR_RESOURCES → FAILED (stockout, deadline)
* any but SUSPENDING → DELETING → gone; a suspended or failed one keeps its name and its quota
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox import room
from sandbox.errors import ApiError, not_found, precondition
from sandbox.queued_request import admit
from sandbox.resources import (
    Initiator,
    QueuedResource,
    QueuedState,
    location_of,
    short,
    zone_of,
)

if TYPE_CHECKING:
    from sandbox.ledger import Ledger
    from sandbox.nodes import NodePool
    from sandbox.queued_request import QueuedRequest
    from sandbox.resources import Operation

_WITH_NODES = frozenset({QueuedState.PROVISIONING, QueuedState.ACTIVE})


class Queue:
    """Queued resources, served first come, first served."""

    def __init__(self, ledger: Ledger, pool: NodePool) -> None:
        self._ledger = ledger
        self._pool = pool
        self.in_line: list[str] = []

    def get(self, name: str) -> QueuedResource:
        """Return a queued resource.  Raises NOT_FOUND, also while it is being created."""
        if name not in self._ledger.queued:
            raise not_found(name)
        return self._ledger.queued[name]

    # --- Create -------------------------------------------------------------------------------

    def create(
        self, name: str, request: QueuedRequest, *, failing: ApiError | None = None
    ) -> Operation:
        """Start to create; with ``failing`` the operation will end with that error."""
        queued = admit(self._ledger, name, request)
        operation = self._ledger.start_operation("create", name)
        self._ledger.pending[name] = (
            queued
            if failing is None
            else replace(queued, error={"status": failing.status, "message": failing.message})
        )
        takes_s = self._ledger.duration_of(
            "CreateQueuedResource", self._ledger.settings.create_operation_s
        )
        self._ledger.after(takes_s, "queued-created", name, operation.name)
        return operation

    def created(self, name: str, operation: str) -> None:
        """Let the create operation end: only now does the queued resource exist."""
        if not self._ledger.is_open(operation):
            return
        queued = self._ledger.pending.pop(name)
        if queued.error is not None:
            error = ApiError(str(queued.error["status"]), str(queued.error["message"]))
            self._ledger.end_operation(operation, error=error)
            return
        self._ledger.queued[name] = queued
        self._ledger.end_operation(operation, result=queued)
        self._after(self._ledger.settings.creating_s, "queued-accepted", queued)

    def cancel(self, operation: Operation) -> None:
        """Give up a create that is not done: nothing will have been made."""
        if (operation.verb, operation.ended_at) != ("create", None):
            return
        if self._ledger.pending.pop(operation.target, None):
            error = ApiError("CANCELLED", "The operation was cancelled.")
            self._ledger.end_operation(operation.name, error=error)

    def accepted(self, name: str, made: str) -> None:
        """Put a new request into the queue."""
        if queued := self._still(name, made, QueuedState.CREATING):
            self._become(queued, QueuedState.WAITING_FOR_RESOURCES)
            self._after(self._ledger.settings.waiting_s, "queued-ripe", queued)
            if queued.valid_until is not None:
                closes = max(queued.valid_until, self._ledger.now)
                self._ledger.timers.set(closes, "queued-expired", name, made)

    def ripened(self, name: str, made: str) -> None:
        """Let a request be served as soon as there is capacity."""
        queued = self._still(name, made, QueuedState.WAITING_FOR_RESOURCES)
        if queued is None:
            return
        if queued.valid_after is not None and queued.valid_after > self._ledger.now:
            self._ledger.timers.set(queued.valid_after, "queued-ripe", name, made)
        else:
            self.in_line.append(name)

    def expired(self, name: str, made: str) -> None:
        """Fail a request whose time to wait is over."""
        if queued := self._still(name, made, QueuedState.WAITING_FOR_RESOURCES):
            self._fail(
                queued,
                ApiError("DEADLINE_EXCEEDED", "The queueing policy's valid-until has passed."),
            )

    def serve(self) -> None:
        """Give capacity to those who wait for it, in the order in which they came."""
        still_waiting = []
        for name in self.in_line:
            queued = self._ledger.queued.get(name)
            if queued is None or queued.state is not QueuedState.WAITING_FOR_RESOURCES:
                continue
            zone = zone_of(name)
            if room.has_room(self._ledger, zone, queued.specs):
                self._provision(queued)
            elif room.is_refused(self._ledger, zone, queued.specs):
                self._fail(queued, room.sold_out(zone, queued.specs[0].tier))
            else:
                still_waiting.append(name)
        self.in_line = still_waiting

    def provisioned(self, name: str, made: str) -> None:
        """Let a request become ACTIVE; its nodes are READY a little later."""
        if queued := self._still(name, made, QueuedState.PROVISIONING):
            self._become(queued, QueuedState.ACTIVE)
            self._lose_a_node(name)
            if queued.run_for_s is not None:
                self._after(queued.run_for_s, "queued-run-over", queued)
            for node in self._ledger.nodes_of(name):
                self._ledger.after(self._ledger.settings.ready_lag_s, "node-ready", node.name)

    def run_over(self, name: str, made: str) -> None:
        """Take the nodes of a request back that has run for as long as it may."""
        if self._still(name, made, QueuedState.ACTIVE):
            self.suspend(name, Initiator.SERVICE)

    # --- Loss ---------------------------------------------------------------------------------

    def suspend(self, name: str, initiator: Initiator) -> None:
        """Begin to take all nodes away; some may be gone or going already."""
        queued = self._ledger.queued[name]
        if queued.state in _WITH_NODES:
            self._become(queued, QueuedState.SUSPENDING, initiator=initiator)
            self._after(self._ledger.settings.suspend_s, "queued-suspended", queued)

    def suspended(self, name: str, made: str) -> None:
        """Let the nodes be gone; the request stays and is good for nothing."""
        if queued := self._still(name, made, QueuedState.SUSPENDING):
            self._remove_nodes(name)
            self._become(queued, QueuedState.SUSPENDED)

    # --- Delete -------------------------------------------------------------------------------

    def delete(self, name: str, *, force: bool) -> Operation:
        """Start to delete; again for one that is stuck.

        Raises FAILED_PRECONDITION for nodes without force, and always while SUSPENDING.
        """
        queued = self.get(name)
        if queued.state is QueuedState.SUSPENDING or (queued.state in _WITH_NODES and not force):
            raise precondition(
                f"QueuedResource '{short(name)}' cannot be deleted while in state "
                f"{queued.state}{'' if force else ' without force'}."
            )
        is_again = queued.state is QueuedState.DELETING
        operation = self._ledger.start_operation("delete", name)
        self._become(queued, QueuedState.DELETING, initiator=Initiator.USER)
        for node in self._ledger.nodes_of(name):
            self._pool.start_delete(node.name)
        if is_again or not self._gets_stuck():
            takes_s = self._ledger.duration_of(
                "DeleteQueuedResource", self._ledger.settings.delete_s
            )
            self._ledger.after(takes_s, "queued-deleted", name, operation.name)
        return operation

    def deleted(self, name: str, operation: str) -> None:
        """Let a request and its nodes be gone, and all who wait for that know it."""
        if not self._ledger.is_open(operation):
            return
        self._remove_nodes(name)
        del self._ledger.queued[name]
        for waiting in self._ledger.open_operations("delete", name):
            self._ledger.end_operation(waiting)

    # --- Helpers ------------------------------------------------------------------------------

    def _provision(self, queued: QueuedResource) -> None:
        self._become(queued, QueuedState.PROVISIONING)
        for spec in queued.specs:
            self._pool.create(location_of(queued.name), spec, queued_resource=queued.name)
        self._after(self._ledger.settings.provisioning_s, "queued-provisioned", queued)

    def _fail(self, queued: QueuedResource, error: ApiError) -> None:
        failed = replace(queued, state=QueuedState.FAILED, error=error.rpc_status())
        self._ledger.queued[queued.name] = failed

    def _become(
        self,
        queued: QueuedResource,
        state: QueuedState,
        *,
        initiator: Initiator | None = None,
    ) -> None:
        self._ledger.queued[queued.name] = replace(
            queued, state=state, initiator=initiator or queued.initiator
        )

    def _after(self, delay_s: float, kind: str, queued: QueuedResource) -> None:
        """Set a timer that means this request and no later one of the same name."""
        self._ledger.after(delay_s, kind, queued.name, str(queued.created_at))

    def _still(self, name: str, made: str, state: QueuedState) -> QueuedResource | None:
        """Return the request that a timer meant, if it is still in that state."""
        queued = self._ledger.queued.get(name)
        is_meant = queued and (str(queued.created_at), queued.state) == (made, state)
        return queued if is_meant else None

    def _remove_nodes(self, name: str) -> None:
        for node in self._ledger.nodes_of(name):
            self._pool.remove(node.name)

    def _lose_a_node(self, name: str) -> None:
        """Let a request be ACTIVE without its last node, if that was ordered."""
        left = self._ledger.settings.missing_nodes
        if left:
            self._ledger.settings = self._ledger.settings.model_copy(
                update={"missing_nodes": left - 1}
            )
            self._pool.remove(self._ledger.nodes_of(name)[-1].name)

    def _gets_stuck(self) -> bool:
        left = self._ledger.settings.stuck_deletes
        if left:
            self._ledger.settings = self._ledger.settings.model_copy(
                update={"stuck_deletes": left - 1}
            )
        return bool(left)
