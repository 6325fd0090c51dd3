"""What the world does to the simulated cloud: it takes nodes, kills hosts, cuts them off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.errors import invalid, not_found, precondition
from sandbox.resources import Host, Initiator, Node, NodeState, Power, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.ledger import Ledger
    from sandbox.nodes import NodePool
    from sandbox.queued import Queue

# The services a host can be cut off from.
SERVICES = frozenset({"storage", "pubsub", "metadata"})
# What the API can say of a node's health.
HEALTHS = ("HEALTHY", "TIMEOUT", "UNHEALTHY_TENSORFLOW", "UNHEALTHY_MAINTENANCE")


class Acts:
    """What happens to nodes and hosts, and no owner has ordered."""

    ledger: Ledger
    pool: NodePool
    queue: Queue

    def host(self, name: str) -> Host:
        """Return a host.  Raises NOT_FOUND."""
        if name not in self.ledger.hosts:
            raise not_found(name)
        return self.ledger.hosts[name]

    def preempt(
        self,
        name: str,
        *,
        notice: bool,
        notice_s: float | None = None,
        hosts: tuple[int, ...] | None = None,
    ) -> None:
        """Preempt a node, at once or after a notice to all or some of its hosts."""
        node = self.pool.get(name)
        if node.state is not NodeState.READY:
            raise precondition(f"node {short(name)} is {node.state}, not READY")
        if not notice:
            self.reclaim(name, str(node.id))
            return
        chosen = node.hosts if hosts is None else [self._host_of(node, i) for i in hosts]
        for host in chosen:
            self.change_host(host, is_preempted=True)
        delay_s = self.ledger.settings.notice_s if notice_s is None else notice_s
        self.ledger.after(delay_s, "node-reclaimed", name, str(node.id))

    def kill_host(self, name: str) -> None:
        """Stop one host without a word; the API goes on to call its node READY."""
        self.host(name)
        self.pool.kill_host(name)

    def reboot_host(self, name: str) -> None:
        """Restart one host: everything on it ends, its disk stays."""
        self.host(name)
        self.pool.power_on(name)

    def host_died(self, name: str, boot_id: str) -> None:
        """Take note that the processes of a boot are gone without our doing."""
        host = self.ledger.hosts.get(name)
        if host and (host.boot_id, host.power) == (boot_id, Power.ON):
            self.pool.kill_host(name)

    def host_rebooted(self, name: str, boot_id: str) -> None:
        """Start a host again whose boot has ended itself for that."""
        host = self.ledger.hosts.get(name)
        if host and (host.boot_id, host.power) == (boot_id, Power.ON):
            self.pool.power_on(name)

    def write_guest_attribute(self, name: str, attribute: str, value: str | None) -> None:
        """Keep what a host says of itself, by ``namespace/key``; None takes it back."""
        if host := self.ledger.hosts.get(name):
            kept = {key: text for key, text in host.guest_attributes.items() if key != attribute}
            new = kept if value is None else {**kept, attribute: value}
            self.change_host(name, guest_attributes=new)

    def cut_off(self, name: str, services: frozenset[str]) -> None:
        """Let these services, and only these, not answer a host."""
        if unknown := services - SERVICES:
            raise invalid(f"no such service: {', '.join(sorted(unknown))}")
        self.change_host(name, cut=services)

    def announce_maintenance(self, name: str, window: Mapping[str, str] | None) -> None:
        """Announce a maintenance window to all hosts of a node, or call it off."""
        for host in self.pool.get(name).hosts:
            self.change_host(host, upcoming_maintenance=window)

    def set_health(self, name: str, health: str, description: str = "") -> None:
        """Let the API report another health of a node."""
        node = self.pool.get(name)
        if health not in HEALTHS:
            raise invalid(f"no such health: {health} (there are {', '.join(HEALTHS)})")
        changed = replace(node, health=health, health_description=description)
        self.ledger.nodes[name] = changed

    def change_host(self, name: str, **changes: object) -> None:
        """Replace fields of a host's record."""
        changed = replace(self.host(name), **changes)  # type: ignore[arg-type]  # names are Host's
        self.ledger.hosts[name] = changed

    def vanish(self, name: str) -> None:
        """Let a node be gone without a word; its queued resource stays as it is."""
        self.pool.get(name)
        self.pool.remove(name)

    def reclaim(self, name: str, node_id: str) -> None:
        """Take the capacity of a node, and of all nodes requested with it."""
        node = self.ledger.nodes.get(name)
        if node is None or str(node.id) != node_id:
            return
        if not node.queued_resource:
            self.pool.preempt(name)
            return
        for sibling in self.ledger.nodes_of(node.queued_resource):
            self.pool.preempt(sibling.name)
        self.queue.suspend(node.queued_resource, Initiator.SERVICE)

    def _host_of(self, node: Node, index: int) -> str:
        if not 0 <= index < len(node.hosts):
            raise invalid(f"node {short(node.name)} has no host {index}")
        return node.hosts[index]
