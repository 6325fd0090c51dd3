"""Maintenance of a node: announced, begun, its hosts off and on again.

* announced ``in_s`` ahead: every host's metadata names the window, and so does the audit log
* begun: ``maintenance-event`` says TERMINATE_ON_HOST_MAINTENANCE for the time of a notice
* off: a spot node is taken away for good; the hosts of any other boot again when it is over
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sandbox.audit_log import TERMINATED, UPCOMING
from sandbox.resources import NodeState, Power
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.errors import JsonObject
    from sandbox.ledger import Ledger
    from sandbox.nodes import NodePool
    from sandbox.resources import Node

EVENT = "TERMINATE_ON_HOST_MAINTENANCE"


class Maintenance:
    """What is maintained, by the name of a node; a timer's detail is the node's id."""

    def __init__(self, ledger: Ledger, pool: NodePool, reclaim: Callable[[str, str], None]) -> None:
        self._ledger = ledger
        self._pool = pool
        self._reclaim = reclaim
        self.handlers: Mapping[str, Callable[[str, str], None]] = {
            "maintenance-begins": self._begin,
            "maintenance-off": self._switch_off,
            "maintenance-over": self._end,
        }

    def plan(self, name: str, *, in_s: float | None = None) -> None:
        """Announce maintenance and let it come; without ``in_s`` it begins at once."""
        node = self._pool.get(name)
        if in_s is None:
            self._begin(name, str(node.id))
            return
        speed, settings = self._ledger.settings.speed, self._ledger.settings
        opens_at = self._ledger.now + in_s / speed
        window = {
            "canReschedule": "false",
            "latestWindowStartTime": _time(opens_at),
            "maintenanceStatus": "PENDING",
            "windowEndTime": _time(opens_at + settings.maintenance_s / speed),
            "windowStartTime": _time(opens_at),
        }
        # Hosts and the audit log name the kind differently.
        self._show(node, upcoming_maintenance={**window, "maintenanceType": "SCHEDULED"})
        for host in node.hosts:
            told: JsonObject = {**window, "type": "SCHEDULED"}
            self._ledger.audit.happened(UPCOMING, self._ledger.hosts[host], told)
        self._ledger.after(in_s, "maintenance-begins", name, str(node.id))

    def _begin(self, name: str, node_id: str) -> None:
        node = self._of(name, node_id)
        if node is None:
            return
        self._show(node, maintenance_event=EVENT)
        for host in node.hosts:
            found = self._ledger.hosts[host]
            if found.upcoming_maintenance is not None:
                window = {**found.upcoming_maintenance, "maintenanceStatus": "ONGOING"}
                self._ledger.hosts[host] = replace(found, upcoming_maintenance=window)
        self._ledger.after(self._ledger.settings.notice_s, "maintenance-off", name, node_id)

    def _switch_off(self, name: str, node_id: str) -> None:
        node = self._of(name, node_id)
        if node is None:
            return
        for host in node.hosts:
            self._ledger.audit.happened(TERMINATED, self._ledger.hosts[host])
        if node.spec.tier is Tier.SPOT:
            self._reclaim(name, node_id)
            return
        self._ledger.nodes[name] = replace(node, health="UNHEALTHY_MAINTENANCE")
        for host in node.hosts:
            self._pool.kill_host(host)
        self._ledger.after(self._ledger.settings.maintenance_s, "maintenance-over", name, node_id)

    def _end(self, name: str, node_id: str) -> None:
        node = self._of(name, node_id)
        if node is None:
            return
        self._ledger.nodes[name] = replace(node, health="HEALTHY")
        self._show(node, maintenance_event="NONE", upcoming_maintenance=None)
        for host in node.hosts:
            if self._ledger.hosts[host].power is Power.DEAD:
                self._pool.power_on(host)

    def _show(self, node: Node, **changes: object) -> None:
        for host in node.hosts:
            found = self._ledger.hosts[host]
            self._ledger.hosts[host] = replace(found, **changes)  # type: ignore[arg-type]  # names are Host's

    def _of(self, name: str, node_id: str) -> Node | None:
        """Return the node that was meant, if it still runs."""
        node = self._ledger.nodes.get(name)
        is_meant = node and (str(node.id), node.state) == (node_id, NodeState.READY)
        return node if is_meant else None


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
