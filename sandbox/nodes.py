"""What may become of a node and its hosts.

Knows nothing of queued resources; ``queued.py`` stands on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from sandbox.addresses import FIRST_NETWORK, address
from sandbox.audit_log import PREEMPTED
from sandbox.errors import ApiError, JsonObject, bad_field, invalid, not_found
from sandbox.ledger import node_name
from sandbox.resources import Host, Node, NodeState, Power, short, zone_of

if TYPE_CHECKING:
    from sandbox.ledger import Ledger
    from sandbox.resources import NodeSpec, Operation


@dataclass(frozen=True, slots=True)
class NodeUpdate:
    """The fields of a node that a patch replaces; None leaves a field as it is."""

    description: str | None = None
    labels: Mapping[str, str] | None = None
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, str] | None = None
    external_ips: bool | None = None
    data_disks: tuple[JsonObject, ...] | None = None


class NodePool:
    """Nodes and their hosts.

    * CREATING → READY → DELETING → gone
    * READY → PREEMPTED → gone
    * what their owners do with them meanwhile: ``upkeep.py``
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.updates: dict[str, NodeUpdate] = {}
        self.addresses = 0
        # Where the hosts' addresses are from; two sandboxes of one machine differ.
        self.network = FIRST_NETWORK

    def get(self, name: str) -> Node:
        """Return a node.  Raises NOT_FOUND."""
        if name not in self._ledger.nodes:
            raise not_found(name)
        return self._ledger.nodes[name]

    def create(self, location: str, spec: NodeSpec, *, queued_resource: str = "") -> Node:
        """Make a node whose hosts are still off."""
        name = node_name(location, spec)
        hosts = self._make_hosts(name, spec)
        node = Node(
            name=name,
            id=self._ledger.chance.getrandbits(62),
            spec=spec,
            created_at=self._ledger.now,
            hosts=tuple(host.name for host in hosts),
            queued_resource=queued_resource,
            description=spec.wish.description,
            labels=spec.wish.labels,
            tags=spec.wish.tags,
            metadata=spec.wish.metadata,
            external_ips=spec.wish.external_ips,
            data_disks=spec.wish.data_disks,
        )
        self._ledger.nodes[name] = node
        self._ledger.hosts.update({host.name: host for host in hosts})
        return node

    def make_ready(self, name: str) -> bool:
        """Let a node that is being created become READY, its hosts on; say whether it did."""
        node = self._ledger.nodes.get(name)
        if node is None or node.state is not NodeState.CREATING:
            return False
        self._ledger.nodes[name] = replace(node, state=NodeState.READY, health="HEALTHY")
        for host in node.hosts:
            self.power_on(host)
        for operation in self._ledger.open_operations("create", name):
            self._ledger.end_operation(operation, result=self._ledger.nodes[name])
        return True

    def power_on(self, host_name: str) -> None:
        """Start a boot; a running host is cut short by it."""
        boot_id = str(UUID(int=self._ledger.chance.getrandbits(128), version=4))
        self._change_host(host_name, power=Power.BOOTING, boot_id=boot_id)
        self._ledger.after(self._ledger.settings.boot_s, "host-booted", host_name, boot_id)

    def booted(self, host_name: str, boot_id: str) -> None:
        """Let a host run, unless something else became of it since."""
        host = self._ledger.hosts.get(host_name)
        if host and (host.power, host.boot_id) == (Power.BOOTING, boot_id):
            self._change_host(host_name, power=Power.ON)

    def kill_host(self, host_name: str) -> None:
        """Stop a host without a word; its node stays as it is."""
        self._change_host(host_name, power=Power.DEAD)

    def switch_off(self, host_name: str) -> None:
        """Let a host be off until its owner starts it again."""
        self._change_host(host_name, power=Power.OFF)

    def preempt(self, name: str) -> None:
        """Take a node's capacity away: all hosts stop at once."""
        node = self._ledger.nodes[name]
        self._ledger.nodes[name] = replace(node, state=NodeState.PREEMPTED)
        for host in node.hosts:
            self._ledger.audit.happened(PREEMPTED, self._ledger.hosts[host])
            self.kill_host(host)

    def start_delete(self, name: str) -> None:
        """Begin to delete; the hosts run until the node is gone, as a VM may."""
        node = self._ledger.nodes[name]
        self._ledger.nodes[name] = replace(node, state=NodeState.DELETING)

    def remove(self, name: str) -> None:
        """Let a node and its hosts be gone."""
        for host in self._ledger.nodes.pop(name).hosts:
            del self._ledger.hosts[host]
        for operation in self._ledger.open_operations("delete", name):
            self._ledger.end_operation(operation)
        for operation in self._ledger.open_operations("create", name):
            error = ApiError("CANCELLED", f"Node '{short(name)}' was deleted meanwhile.")
            self._ledger.end_operation(operation, error=error)

    def update(self, name: str, update: NodeUpdate) -> Operation:
        """Start to replace fields of a node.  Raises FAILED_PRECONDITION unless READY."""
        _require_ready(self.get(name))
        operation = self._ledger.start_operation("update", name)
        self.updates[operation.name] = update
        takes_s = self._ledger.duration_of("UpdateNode", self._ledger.settings.patch_s)
        self._ledger.after(takes_s, "node-updated", name, operation.name)
        return operation

    def updated(self, name: str, operation: str) -> None:
        """Apply an update, unless the node is no longer READY."""
        update = self.updates.pop(operation)
        node = self._ledger.nodes.get(name)
        if node is None or node.state is not NodeState.READY:
            error = not_found(name) if node is None else _not_ready(node)
            self._ledger.end_operation(operation, error=error)
            return
        changes = {
            field: value
            for field in NodeUpdate.__slots__
            if (value := getattr(update, field)) is not None
        }
        node = self._ledger.nodes[name] = replace(node, **changes)
        self._ledger.end_operation(operation, result=node)
        self._ledger.after(
            self._ledger.settings.metadata_lag_s,
            "metadata-published",
            name,
            str(node.id),
        )

    def publish_metadata(self, name: str, node_id: str) -> None:
        """Let the hosts see the node's metadata."""
        node = self._ledger.nodes.get(name)
        if node is None or str(node.id) != node_id:
            return
        for host in node.hosts:
            self._change_host(host, attributes=node.metadata)

    def _change_host(self, host_name: str, **changes: object) -> None:
        host = self._ledger.hosts[host_name]
        self._ledger.hosts[host_name] = replace(host, **changes)  # type: ignore[arg-type]  # names are Host's

    def _make_hosts(self, name: str, spec: NodeSpec) -> list[Host]:
        """Make the hosts' records; a second node of that id elsewhere gets longer names."""
        prefix = spec.wish.node_id
        if f"{prefix}-w-0" in self._ledger.hosts:
            prefix = f"{prefix}-{zone_of(name)}"
        digest = hashlib.sha256(f"{name}@{self._ledger.now}".encode()).hexdigest()[:8]
        return [
            Host(
                name=f"{prefix}-w-{index}",
                node=name,
                index=index,
                id=self._ledger.chance.getrandbits(62),
                hostname=f"t1v-n-{digest}-w-{index}",
                ip=self._next_address(),
                attributes=spec.wish.metadata,
            )
            for index in range(spec.hosts)
        ]

    def _next_address(self) -> str:
        self.addresses += 1
        return address(self.network, self.addresses)


def host_of(node: Node, worker: str) -> str:
    """Return the name of a node's host by its number.  Raises INVALID_ARGUMENT."""
    numbers = {str(number): name for number, name in enumerate(node.hosts)}
    if worker not in numbers:
        raise bad_field(
            "worker_ids", f"Invalid worker id '{worker}': node has {len(node.hosts)} workers."
        )
    return numbers[worker]


def _require_ready(node: Node) -> None:
    if node.state is not NodeState.READY:
        raise _not_ready(node)


def _not_ready(node: Node) -> ApiError:
    return invalid(
        f"Node '{short(node.name)}': update is not supported while in state {node.state}"
    )
