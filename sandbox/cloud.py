"""The simulated Cloud TPU service: one plain object, driven by ``advance(now)``.

No threads, no sleeps, no I/O; whoever owns it holds a lock, calls it, and then makes the real
processes match ``hosts`` (``engine.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from random import Random
from typing import TYPE_CHECKING

from sandbox import admission
from sandbox.acts import Acts
from sandbox.errors import ApiError, not_found
from sandbox.ledger import Ledger
from sandbox.nodes import NodePool, NodeUpdate
from sandbox.queued import Queue
from sandbox.queued_request import QueuedRequest
from sandbox.resources import (
    Host,
    Node,
    NodeWish,
    Operation,
    QueuedResource,
)
from sandbox.single import SingleNodes
from sandbox.upkeep import Upkeep
from sandbox.weather import Weather
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from sandbox.settings import CallFailure, Settings
    from shared.core.catalog import Catalog


class Cloud(Acts):
    """Queued resources, nodes, hosts and operations of one project."""

    def __init__(self, settings: Settings, *, now: float, chance: Random | None = None) -> None:
        self.ledger = Ledger(settings, now=now, chance=chance or Random())
        self.pool = NodePool(self.ledger)
        self.queue = Queue(self.ledger, self.pool)
        self.weather = Weather(self, self.ledger, self.pool)
        self.upkeep = Upkeep(
            self.ledger,
            self.pool,
            self.queue,
            maintenance=self.weather.maintenance,
            reclaim=self.reclaim,
        )
        self._single = SingleNodes(self.ledger, self.pool, self.queue)
        pool, queue = self.pool, self.queue
        self._handlers: Mapping[str, Callable[[str, str], None]] = {
            "queued-created": queue.created,
            "queued-accepted": queue.accepted,
            "queued-ripe": queue.ripened,
            "queued-expired": queue.expired,
            "queued-provisioned": queue.provisioned,
            "queued-run-over": queue.run_over,
            "queued-suspended": queue.suspended,
            "queued-deleted": queue.deleted,
            "node-ready": lambda name, _: self._node_ready(name),
            "node-updated": pool.updated,
            "node-reclaimed": self.reclaim,
            **self._single.handlers,
            **self.upkeep.handlers,
            "operation-failed": self.ledger.fail_operation,
            "host-booted": pool.booted,
            "metadata-published": pool.publish_metadata,
            "audit-entry": lambda _, entry: self.ledger.audit.arrived(entry),
            **self.weather.handlers,
        }

    # --- Time ---------------------------------------------------------------------------------

    def advance(self, now: float) -> None:
        """Let everything happen that is due, in order."""
        self.queue.serve()
        while timer := self.ledger.timers.pop_due(now):
            self.ledger.now = max(self.ledger.now, timer.at)
            self._handlers[timer.kind](timer.target, timer.detail)
            self.queue.serve()
        self.ledger.now = max(self.ledger.now, now)

    def after(self, delay_s: float, kind: str, target: str, detail: str = "") -> None:
        """Set a timer of the cloud."""
        self.ledger.after(delay_s, kind, target, detail)

    def take_audit_entries(self) -> list[str]:
        """Return the entries of the audit log that its sink publishes now, each as JSON."""
        return self.ledger.audit.take()

    def next_due(self) -> float | None:
        """Return when ``advance`` has something to do."""
        return self.ledger.timers.next_at()

    # --- What is there ------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """Return the settings in force."""
        return self.ledger.settings

    @settings.setter
    def settings(self, settings: Settings) -> None:
        self.ledger.settings = settings

    @property
    def hosts(self) -> Mapping[str, Host]:
        """Return all hosts by name."""
        return self.ledger.hosts

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Return all nodes by full name."""
        return self.ledger.nodes

    @property
    def queued_resources(self) -> Mapping[str, QueuedResource]:
        """Return all queued resources by full name."""
        return self.ledger.queued

    @property
    def operations(self) -> Mapping[str, Operation]:
        """Return all operations by full name."""
        return self.ledger.operations

    def check_location(self, name: str) -> None:
        """Refuse a location that the project may not use or that does not answer."""
        admission.check_location(self.ledger, name)

    def check_project(self, name: str) -> None:
        """Refuse another project's resources."""
        admission.check_project(self.ledger, name)

    @property
    def catalog(self) -> Catalog:
        """Return what is offered."""
        return self.ledger.catalog

    def zones(self) -> frozenset[str]:
        """Return the zones that the project may use."""
        allowed = self.settings.zones
        return self.ledger.zones if allowed is None else self.ledger.zones & set(allowed)

    def node(self, name: str) -> Node:
        """Return a node.  Raises NOT_FOUND."""
        return self.pool.get(name)

    def queued_resource(self, name: str) -> QueuedResource:
        """Return a queued resource.  Raises NOT_FOUND."""
        return self.queue.get(name)

    def operation(self, name: str) -> Operation:
        """Return an operation.  Raises NOT_FOUND."""
        found = self.ledger.operations.get(name)
        if found is None or found.is_forgotten:
            raise not_found(name)
        return found

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
        if earlier := self.ledger.repeated("create", name, request_id):
            return earlier
        operation = self.queue.create(name, request, failing=failing)
        self.ledger.remember_request(request_id, operation)
        return operation

    def delete_queued_resource(
        self, name: str, *, force: bool = False, request_id: str = ""
    ) -> Operation:
        """Start to delete a queued resource.  Idempotent: by request id."""
        if earlier := self.ledger.repeated("delete", name, request_id):
            return earlier
        operation = self.queue.delete(name, force=force)
        self.ledger.remember_request(request_id, operation)
        return operation

    def create_node(
        self, location: str, wish: NodeWish, tier: Tier, *, request_id: str = ""
    ) -> Operation:
        """Start to create a node without a queued resource.  Idempotent: by request id."""
        name = f"{location}/nodes/{wish.node_id}"
        if earlier := self.ledger.repeated("create", name, request_id):
            return earlier
        operation = self._single.create(location, wish, tier)
        self.ledger.remember_request(request_id, operation)
        return operation

    def update_node(self, name: str, update: NodeUpdate) -> Operation:
        """Start to replace fields of a node, each of them as a whole."""
        if update.metadata is not None:
            admission.check_metadata(update.metadata)
        if update.labels is not None:
            admission.check_labels(update.labels)
        return self.pool.update(name, update)

    def delete_node(self, name: str, *, request_id: str = "") -> Operation:
        """Start to delete a node.  Idempotent: by request id."""
        if earlier := self.ledger.repeated("delete", name, request_id):
            return earlier
        operation = self._single.delete(name)
        self.ledger.remember_request(request_id, operation)
        return operation

    def start_failing(self, verb: str, target: str, error: ApiError) -> Operation:
        """Start an operation that will end with an error and have no effect."""
        return self.ledger.start_failing(verb, target, error)

    def cancel_operation(self, name: str) -> None:
        """Give an operation up if that is possible: a create that is not done yet."""
        operation = self.operation(name)
        self.ledger.ask_to_cancel(name)
        self.queue.cancel(operation)

    def forget_operation(self, name: str) -> None:
        """Let an operation be forgotten.  Raises NOT_FOUND."""
        self.operation(name)
        self.ledger.forget_operation(name)

    def take_failure(self, method: str) -> CallFailure | None:
        """Use up one ordered failure of an API method, if there is one."""
        failures = list(self.settings.failures)
        for index, failure in enumerate(failures):
            if fnmatchcase(method, failure.method):
                left = failure.model_copy(update={"count": failure.count - 1})
                failures[index : index + 1] = [left] if left.count else []
                self.settings = self.settings.model_copy(update={"failures": tuple(failures)})
                return failure
        return None

    # --- Helpers ------------------------------------------------------------------------------

    def _node_ready(self, name: str) -> None:
        if self.pool.make_ready(name):
            self.weather.node_is_ready(name)
