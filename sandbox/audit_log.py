"""Cloud Audit Logs: what happened to VMs and who called the TPU API, as a sink forwards it.

Written only while there is a sink (``audit_copies``), some time after the event
(``audit_lag_s``), and as often as the sink repeats itself.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sandbox.errors import JsonObject
from sandbox.resources import short, zone_of

if TYPE_CHECKING:
    from sandbox.ledger import Ledger
    from sandbox.resources import Host

PREEMPTED = "compute.instances.preempted"
TERMINATED = "compute.instances.terminateOnHostMaintenance"
UPCOMING = "compute.instances.upcomingMaintenance"
TIMER = "audit-entry"

_TYPE = "type.googleapis.com/google.cloud.audit.AuditLog"
_COLLECTIONS = {"nodes": "Node", "queuedResources": "QueuedResource"}
# Those whose methods name what they are about.
_PLAIN_VERBS = frozenset({"create", "delete", "reset", "start", "stop", "update"})


class AuditLog:
    """Entries on their way to the sink, and those that have arrived there."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._arrived: list[str] = []

    def happened(self, method: str, host: Host, metadata: JsonObject | None = None) -> None:
        """Log what the cloud itself did to a VM."""
        project, zone = host.node.split("/")[1], zone_of(host.node)
        payload: JsonObject = {
            "@type": _TYPE,
            "authenticationInfo": {"principalEmail": "system@google.com"},
            "serviceName": "compute.googleapis.com",
            "methodName": method,
            "resourceName": f"projects/{project}/zones/{zone}/instances/{host.hostname}",
            "request": {"@type": f"type.googleapis.com/{method}"},
        }
        if metadata is not None:
            payload["metadata"] = metadata
        labels = {"instance_id": str(host.id), "project_id": project, "zone": zone}
        resource: JsonObject = {"type": "gce_instance", "labels": labels}
        self._write(project, "system_event", payload, resource)

    def called(self, verb: str, target: str) -> None:
        """Log that somebody changed a node or a queued resource."""
        project, collection = target.split("/")[1], target.split("/")[4]
        plain = verb in _PLAIN_VERBS
        kind = _COLLECTIONS.get(collection, "") if plain else ""
        method = f"google.cloud.tpu.v2.Tpu.{verb[:1].upper()}{verb[1:]}{kind}"
        payload: JsonObject = {
            "@type": _TYPE,
            "authenticationInfo": {"principalEmail": "somebody@example.com"},
            "serviceName": "tpu.googleapis.com",
            "methodName": method,
            "resourceName": target,
        }
        labels = {"method": method, "project_id": project, "service": "tpu.googleapis.com"}
        self._write(project, "activity", payload, {"type": "audited_resource", "labels": labels})

    def arrived(self, entry: str) -> None:
        """Let the sink have an entry, as often as it repeats itself."""
        self._arrived += [entry] * self._ledger.settings.audit_copies

    def take(self) -> list[str]:
        """Return the entries that are to be published, each as JSON, once."""
        taken, self._arrived = self._arrived, []
        return taken

    def _write(self, project: str, log: str, payload: JsonObject, resource: JsonObject) -> None:
        settings = self._ledger.settings
        if not settings.audit_copies:
            return
        at = datetime.fromtimestamp(self._ledger.now, UTC).isoformat()
        entry: JsonObject = {
            "insertId": f"{self._ledger.chance.getrandbits(48):012x}",
            "logName": f"projects/{project}/logs/cloudaudit.googleapis.com%2F{log}",
            "protoPayload": payload,
            "resource": resource,
            "severity": "INFO" if log == "system_event" else "NOTICE",
            "timestamp": at,
        }
        name = short(str(payload["resourceName"]))
        self._ledger.after(settings.audit_lag_s, TIMER, name, json.dumps(entry))
