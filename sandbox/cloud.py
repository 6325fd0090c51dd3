"""The simulated Cloud TPU service: one plain object, driven by ``advance(now)``.

No threads, no sleeps, no I/O; whoever owns it holds a lock, calls it, and then makes the real
processes match ``hosts`` (``engine.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from sandbox import admission
from sandbox.errors import ApiError, invalid, not_found, precondition
from sandbox.ledger import Ledger
from sandbox.nodes import NodePool, NodeUpdate
from sandbox.queued import Queue, QueuedRequest
from sandbox.resources import (
    Host,
    Initiator,
    Node,
    NodeState,
    NodeWish,
    Operation,
    Power,
    QueuedResource,
    short,
)
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from sandbox.settings import CallFailure, Settings

# The services a host can be cut off from.
SERVICES = frozenset({"storage", "pubsub", "metadata"})
# What the API can say of a node's health.
HEALTHS = ("HEALTHY", "TIMEOUT", "UNHEALTHY_TENSORFLOW", "UNHEALTHY_MAINTENANCE")


class Cloud:
    """Queued resources, nodes, hosts and operations of one project."""

    def __init__(self, settings: Settings, *, now: float, chance: Random | None = None) -> None:
        self._ledger = Ledger(settings, now=now, chance=chance or Random())
        self._pool = NodePool(self._ledger)
        self._queue = Queue(self._ledger, self._pool)
        pool, queue = self._pool, self._queue
        self._handlers: Mapping[str, Callable[[str, str], None]] = {
            "queued-created": queue.created,
            "queued-accepted": queue.accepted,
            "queued-ripe": queue.ripe,
            "queued-expired": queue.expired,
            "queued-provisioned": queue.provisioned,
            "queued-suspended": queue.suspended,
            "queued-deleted": queue.deleted,
            "node-ready": lambda name, _: pool.make_ready(name),
            "node-updated": pool.updated,
            "node-reclaimed": self._reclaim,
            "node-deleted": self._node_deleted,
            "host-booted": pool.booted,
            "metadata-published": pool.publish_metadata,
        }

    # --- Time ---------------------------------------------------------------------------------

    def advance(self, now: float) -> None:
        """Let everything happen that is due, in order."""
        self._queue.serve()
        while timer := self._ledger.timers.pop_due(now):
            self._ledger.now = max(self._ledger.now, timer.at)
            self._handlers[timer.kind](timer.target, timer.detail)
            self._queue.serve()
        self._ledger.now = max(self._ledger.now, now)

    def next_due(self) -> float | None:
        """Return when ``advance`` has something to do."""
        return self._ledger.timers.next_at()

    # --- What is there ------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """Return the settings in force."""
        return self._ledger.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self._ledger.settings = settings

    @property
    def hosts(self) -> Mapping[str, Host]:
        """Return all hosts by name."""
        return self._ledger.hosts

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Return all nodes by full name."""
        return self._ledger.nodes

    @property
    def queued_resources(self) -> Mapping[str, QueuedResource]:
        """Return all queued resources by full name."""
        return self._ledger.queued

    @property
    def operations(self) -> Mapping[str, Operation]:
        """Return all operations by full name."""
        return self._ledger.operations

    def check_location(self, name: str) -> None:
        """Refuse a location that the project may not use or that does not answer."""
        admission.check_location(self._ledger, name)

    def node(self, name: str) -> Node:
        """Return a node.  Raises NOT_FOUND."""
        return self._pool.get(name)

    def queued_resource(self, name: str) -> QueuedResource:
        """Return a queued resource.  Raises NOT_FOUND."""
        return self._queue.get(name)

    def operation(self, name: str) -> Operation:
        """Return an operation.  Raises NOT_FOUND."""
        if name not in self._ledger.operations:
            raise not_found(name)
        return self._ledger.operations[name]

    def host(self, name: str) -> Host:
        """Return a host.  Raises NOT_FOUND."""
        if name not in self._ledger.hosts:
            raise not_found(name)
        return self._ledger.hosts[name]

    # --- The Cloud TPU API --------------------------------------------------------------------

    def create_queued_resource(
        self,
        name: str,
        request: QueuedRequest,
        *,
        request_id: str = "",
        failing: ApiError | None = None,
    ) -> Operation:
        """Start to create a queued resource.  Idempotent: by request id."""
        if earlier := self._ledger.repeated(name, request_id):
            return earlier
        operation = self._queue.create(name, request, failing=failing)
        self._ledger.remember_request(request_id, operation)
        return operation

    def delete_queued_resource(
        self, name: str, *, force: bool = False, request_id: str = ""
    ) -> Operation:
        """Start to delete a queued resource.  Idempotent: by request id."""
        if earlier := self._ledger.repeated(name, request_id):
            return earlier
        operation = self._queue.delete(name, force=force)
        self._ledger.remember_request(request_id, operation)
        return operation

    def create_node(self, location: str, wish: NodeWish, tier: Tier) -> Operation:
        """Start to create a node without a queued resource."""
        admission.check_location(self._ledger, location)
        spec = admission.admit_node(self._ledger, location, wish, tier)
        admission.check_names_free(self._ledger, location, (spec,))
        admission.check_quota(self._ledger, location, (spec,))
        node = self._pool.create(location, spec)
        operation = self._ledger.start_operation("create", node.name)
        self._ledger.after(self.settings.provisioning_s, "node-ready", node.name)
        return operation

    def update_node(self, name: str, update: NodeUpdate) -> Operation:
        """Start to replace fields of a node, each of them as a whole."""
        if update.metadata is not None:
            admission.check_metadata(update.metadata)
        if update.labels is not None:
            admission.check_labels(update.labels)
        return self._pool.update(name, update)

    def delete_node(self, name: str) -> Operation:
        """Start to delete a node; its queued resource, if any, is suspended by it."""
        node = self._pool.get(name)
        self._pool.start_delete(name)
        operation = self._ledger.start_operation("delete", name)
        if node.queued_resource:
            self._queue.suspend(node.queued_resource, Initiator.USER)
        self._ledger.after(self.settings.delete_s, "node-deleted", name, str(node.id))
        return operation

    def take_failure(self, method: str) -> CallFailure | None:
        """Use up one ordered failure of an API method, if there is one."""
        failures = list(self.settings.failures)
        for index, failure in enumerate(failures):
            if failure.method == method:
                left = failure.model_copy(update={"count": failure.count - 1})
                failures[index : index + 1] = [left] if left.count else []
                self.settings = self.settings.model_copy(update={"failures": tuple(failures)})
                return failure
        return None

    # --- What the world does to it ------------------------------------------------------------

    def preempt(
        self,
        name: str,
        *,
        notice: bool,
        notice_s: float | None = None,
        hosts: tuple[int, ...] | None = None,
    ) -> None:
        """Preempt a node, at once or after a notice to all or some of its hosts."""
        node = self._pool.get(name)
        if node.state is not NodeState.READY:
            raise precondition(f"node {short(name)} is {node.state}, not READY")
        if not notice:
            self._reclaim(name, str(node.id))
            return
        chosen = node.hosts if hosts is None else [self._host_of(node, i) for i in hosts]
        for host in chosen:
            self.change_host(host, is_preempted=True)
        delay_s = self.settings.notice_s if notice_s is None else notice_s
        self._ledger.after(delay_s, "node-reclaimed", name, str(node.id))

    def kill_host(self, name: str) -> None:
        """Stop one host without a word; the API goes on to call its node READY."""
        self.host(name)
        self._pool.kill_host(name)

    def reboot_host(self, name: str) -> None:
        """Restart one host: everything on it ends, its disk stays."""
        self.host(name)
        self._pool.power_on(name)

    def host_died(self, name: str, boot_id: str) -> None:
        """Take note that the processes of a boot are gone without our doing."""
        host = self._ledger.hosts.get(name)
        if host and (host.boot_id, host.power) == (boot_id, Power.ON):
            self._pool.kill_host(name)

    def cut_off(self, name: str, services: frozenset[str]) -> None:
        """Let these services, and only these, not answer a host."""
        if unknown := services - SERVICES:
            raise invalid(f"no such service: {', '.join(sorted(unknown))}")
        self.change_host(name, cut=services)

    def announce_maintenance(self, name: str, window: Mapping[str, str] | None) -> None:
        """Announce a maintenance window to all hosts of a node, or call it off."""
        for host in self._pool.get(name).hosts:
            self.change_host(host, upcoming_maintenance=window)

    def set_health(self, name: str, health: str, description: str = "") -> None:
        """Let the API report another health of a node."""
        node = self._pool.get(name)
        if health not in HEALTHS:
            raise invalid(f"no such health: {health} (there are {', '.join(HEALTHS)})")
        changed = replace(node, health=health, health_description=description)
        self._ledger.nodes[name] = changed

    def change_host(self, name: str, **changes: object) -> None:
        """Replace fields of a host's record."""
        changed = replace(self.host(name), **changes)  # type: ignore[arg-type]  # names are Host's
        self._ledger.hosts[name] = changed

    def _reclaim(self, name: str, node_id: str) -> None:
        """Take the capacity of a node, and of all nodes requested with it."""
        node = self._ledger.nodes.get(name)
        if node is None or str(node.id) != node_id:
            return
        if not node.queued_resource:
            self._pool.preempt(name)
            return
        for sibling in self._ledger.nodes_of(node.queued_resource):
            self._pool.preempt(sibling.name)
        self._queue.suspend(node.queued_resource, Initiator.SERVICE)

    def _node_deleted(self, name: str, node_id: str) -> None:
        node = self._ledger.nodes.get(name)
        if node is not None and str(node.id) == node_id:
            self._pool.remove(name)

    def _host_of(self, node: Node, index: int) -> str:
        if not 0 <= index < len(node.hosts):
            raise invalid(f"node {short(node.name)} has no host {index}")
        return node.hosts[index]
