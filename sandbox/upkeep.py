"""What owners have done to nodes that run: stop, start, reset, maintenance.

* READY → STOPPING → STOPPED → STARTING → READY, for a node of one host by itself
* READY → RESTARTING → READY, for all nodes of a queued resource that is reset
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.errors import ApiError, bad_field, not_found, precondition
from sandbox.maintenance import EVENT
from sandbox.nodes import host_of
from sandbox.resources import NodeState, Power, QueuedState, short
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from sandbox.ledger import Ledger
    from sandbox.maintenance import Maintenance
    from sandbox.nodes import NodePool
    from sandbox.queued import Queue
    from sandbox.resources import Node, Operation


class Upkeep:
    """Orders of owners; a timer's detail is the operation that waits for it."""

    def __init__(
        self,
        ledger: Ledger,
        pool: NodePool,
        queue: Queue,
        *,
        maintenance: Maintenance,
        reclaim: Callable[[str, str], None],
    ) -> None:
        self._ledger = ledger
        self._pool = pool
        self._queue = queue
        self._maintenance = maintenance
        self._reclaim = reclaim
        self.handlers: Mapping[str, Callable[[str, str], None]] = {
            "node-stopped": self._stopped,
            "node-started": self._started,
            "nodes-restarted": self._restarted,
            "event-over": self._event_over,
            "maintained": self._maintained,
        }

    # --- Stop and start -----------------------------------------------------------------------

    def stop(self, name: str) -> Operation:
        """Start to stop a node.  Raises FAILED_PRECONDITION for pods and queued resources."""
        node = self._pool.get(name)
        self._require_alone(node, "stop")
        _require(node, "stop", NodeState.READY)
        operation = self._ledger.start_operation("stop", name)
        self._become(node, NodeState.STOPPING)
        self._ledger.after(self._ledger.settings.suspend_s, "node-stopped", name, operation.name)
        return operation

    def start(self, name: str) -> Operation:
        """Start to start a node that was stopped."""
        node = self._pool.get(name)
        self._require_alone(node, "start")
        _require(node, "start", NodeState.STOPPED)
        operation = self._ledger.start_operation("start", name)
        self._become(node, NodeState.STARTING)
        self._ledger.after(
            self._ledger.settings.provisioning_s, "node-started", name, operation.name
        )
        return operation

    def _stopped(self, name: str, operation: str) -> None:
        if node := self._still(name, operation, NodeState.STOPPING):
            for host in node.hosts:
                self._pool.switch_off(host)
            self._finish(self._become(node, NodeState.STOPPED), operation)

    def _started(self, name: str, operation: str) -> None:
        if node := self._still(name, operation, NodeState.STARTING):
            for host in node.hosts:
                self._pool.power_on(host)
            self._finish(self._become(node, NodeState.READY), operation)

    # --- Reset --------------------------------------------------------------------------------

    def reset(self, name: str) -> Operation:
        """Start to restart all hosts of a queued resource.  Only for one that is ACTIVE."""
        queued = self._queue.get(name)
        if queued.state is not QueuedState.ACTIVE:
            raise precondition(
                f"QueuedResource '{short(name)}' cannot be reset while in state {queued.state}."
            )
        operation = self._ledger.start_operation("reset", name)
        for node in self._ledger.nodes_of(name):
            if node.state is NodeState.READY:
                self._become(node, NodeState.RESTARTING)
                for host in node.hosts:
                    self._pool.kill_host(host)
        self._ledger.after(self._ledger.settings.suspend_s, "nodes-restarted", name, operation.name)
        return operation

    def _restarted(self, name: str, operation: str) -> None:
        for node in self._ledger.nodes_of(name):
            if node.state is NodeState.RESTARTING:
                self._become(node, NodeState.READY)
                for host in node.hosts:
                    self._pool.power_on(host)
        queued = self._ledger.queued.get(name)
        error = None if queued else not_found(name)
        self._ledger.end_operation(operation, result=queued, error=error)

    # --- Maintenance --------------------------------------------------------------------------

    def simulate_event(self, name: str, workers: tuple[str, ...]) -> Operation:
        """Start a maintenance event on some hosts, as a test of what runs on them.

        After the notice a spot node is taken away, and a host of any other boots again.
        """
        node = self._pool.get(name)
        _require(node, "simulateMaintenanceEvent", NodeState.READY)
        hosts = [host_of(node, worker) for worker in workers]
        operation = self._ledger.start_operation("simulateMaintenanceEvent", name)
        for host in hosts:
            found = self._ledger.hosts[host]
            self._ledger.hosts[host] = replace(found, maintenance_event=EVENT)
        self._ledger.after(self._ledger.settings.notice_s, "event-over", name, str(node.id))
        self._ledger.end_operation(operation.name, result=node)
        return self._ledger.operations[operation.name]

    def maintain(self, name: str) -> Operation:
        """Start the announced maintenance of a node now."""
        node = self._announced(name)
        operation = self._ledger.start_operation("performMaintenance", name)
        self._begin([node], operation)
        return operation

    def maintain_some(self, name: str, nodes: tuple[str, ...]) -> Operation:
        """Start the announced maintenance of some nodes of a queued resource now."""
        self._queue.get(name)
        members = {node.name: node for node in self._ledger.nodes_of(name)}
        by_id = {short(full): full for full in members}
        if not nodes:
            raise bad_field("node_names", "Missing required field 'node_names'.")
        for wanted in nodes:
            if short(wanted) not in by_id:
                raise bad_field(
                    "node_names", f"Node '{wanted}' does not belong to '{short(name)}'."
                )
        chosen = [self._announced(by_id[short(wanted)]) for wanted in nodes]
        operation = self._ledger.start_operation("performMaintenance", name)
        self._begin(chosen, operation)
        return operation

    def _begin(self, nodes: list[Node], operation: Operation) -> None:
        for node in nodes:
            self._maintenance.plan(node.name)
        settings = self._ledger.settings
        takes_s = settings.notice_s + settings.maintenance_s
        self._ledger.after(takes_s, "maintained", operation.target, operation.name)

    def _maintained(self, name: str, operation: str) -> None:
        made = self._ledger.nodes.get(name) or self._ledger.queued.get(name)
        self._ledger.end_operation(operation, result=made, error=None if made else not_found(name))

    def _event_over(self, name: str, node_id: str) -> None:
        node = self._ledger.nodes.get(name)
        if node is None or (str(node.id), node.state) != (node_id, NodeState.READY):
            return
        if node.spec.tier is Tier.SPOT:
            self._reclaim(name, node_id)
            return
        for host in node.hosts:
            found = self._ledger.hosts[host]
            if found.maintenance_event == EVENT:
                self._ledger.hosts[host] = replace(found, maintenance_event="NONE")
                if found.power is Power.ON:
                    self._pool.power_on(host)

    def _announced(self, name: str) -> Node:
        """Return a node that has a maintenance window.  Raises FAILED_PRECONDITION."""
        node = self._pool.get(name)
        _require(node, "performMaintenance", NodeState.READY)
        if not any(self._ledger.hosts[host].upcoming_maintenance for host in node.hosts):
            raise precondition(f"Node '{short(name)}' has no upcoming maintenance.")
        return node

    # --- Helpers ------------------------------------------------------------------------------

    def _require_alone(self, node: Node, verb: str) -> None:
        """Refuse what Google refuses for slices of several hosts and of queued resources."""
        if node.queued_resource:
            raise precondition(
                f"Node '{short(node.name)}': {verb} is not supported for nodes of a queued "
                f"resource ({short(node.queued_resource)})."
            )
        if node.spec.hosts > 1:
            raise precondition(f"Node '{short(node.name)}': {verb} is not supported for TPU Pods.")

    def _become(self, node: Node, state: NodeState) -> Node:
        changed = replace(node, state=state)
        self._ledger.nodes[node.name] = changed
        return changed

    def _finish(self, node: Node, operation: str) -> None:
        self._ledger.end_operation(operation, result=node)

    def _still(self, name: str, operation: str, state: NodeState) -> Node | None:
        """Return the node if nothing else became of it; else let the operation fail."""
        node = self._ledger.nodes.get(name)
        if node is not None and node.state is state:
            return node
        error = ApiError("ABORTED", f"Node '{short(name)}' was changed meanwhile.")
        self._ledger.end_operation(operation, error=error)
        return None


def _require(node: Node, verb: str, state: NodeState) -> None:
    if node.state is not state:
        raise precondition(
            f"Node '{short(node.name)}': {verb} is not supported while in state {node.state}"
        )
