"""What may become of a node and its hosts.

Knows nothing of queued resources; ``queued.py`` stands on it.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from sandbox.errors import ApiError, not_found, precondition
from sandbox.ledger import node_name
from sandbox.resources import Host, Node, NodeState, Power, short, zone_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.ledger import Ledger
    from sandbox.resources import NodeSpec, Operation

# Loopback is a whole /8 on Linux, so that every host can have an address of its own.
_HOSTS_NETWORK = "127.77" if sys.platform.startswith("linux") else ""
_ONLY_ADDRESS = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class NodeUpdate:
    """The fields of a node that a patch replaces; None leaves a field as it is."""

    description: str | None = None
    labels: Mapping[str, str] | None = None
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, str] | None = None


class NodePool:
    """Nodes and their hosts.

    * CREATING → READY → DELETING → gone
    * READY → PREEMPTED → gone
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._updates: dict[str, NodeUpdate] = {}
        self._addresses = 0

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
        )
        self._ledger.nodes[name] = node
        self._ledger.hosts.update({host.name: host for host in hosts})
        return node

    def make_ready(self, name: str) -> None:
        """Let a node that is being created become READY and switch its hosts on."""
        node = self._ledger.nodes.get(name)
        if node is None or node.state is not NodeState.CREATING:
            return
        self._ledger.nodes[name] = replace(node, state=NodeState.READY, health="HEALTHY")
        for host in node.hosts:
            self.power_on(host)
        for operation in self._ledger.open_operations("create", name):
            self._ledger.end_operation(operation, result=self._ledger.nodes[name])

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

    def preempt(self, name: str) -> None:
        """Take a node's capacity away: all hosts stop at once."""
        node = self._ledger.nodes[name]
        self._ledger.nodes[name] = replace(node, state=NodeState.PREEMPTED)
        for host in node.hosts:
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

    def update(self, name: str, update: NodeUpdate) -> Operation:
        """Start to replace fields of a node.  Raises FAILED_PRECONDITION unless READY."""
        _require_ready(self.get(name))
        operation = self._ledger.start_operation("update", name)
        self._updates[operation.name] = update
        self._ledger.after(self._ledger.settings.patch_s, "node-updated", name, operation.name)
        return operation

    def updated(self, name: str, operation: str) -> None:
        """Apply an update, unless the node is no longer READY."""
        update = self._updates.pop(operation)
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
        if not _HOSTS_NETWORK:
            return _ONLY_ADDRESS
        self._addresses += 1
        return f"{_HOSTS_NETWORK}.{self._addresses // 250 % 250}.{self._addresses % 250 + 1}"


def _require_ready(node: Node) -> None:
    if node.state is not NodeState.READY:
        raise _not_ready(node)


def _not_ready(node: Node) -> ApiError:
    return precondition(
        f"Node '{short(node.name)}': update is not supported while in state {node.state}"
    )
