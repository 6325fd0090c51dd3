"""Entries of Google's audit log, as its sink forwards them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime

from shared.ports import Message

PROJECT, ZONE = "sandbox", "us-central2-b"
PREEMPTED = "compute.instances.preempted"
HOST_ERROR = "compute.instances.hostError"
TERMINATED = "compute.instances.terminateOnHostMaintenance"
UPCOMING = "compute.instances.upcomingMaintenance"
DELETED = "google.cloud.tpu.v2.Tpu.DeleteQueuedResource"


def vm_entry(
    method: str,
    name: str,
    at: datetime,
    *,
    zone: str = ZONE,
    payload: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Write what is logged when something happens to a VM."""
    labels = {"instance_id": "1844488191", "project_id": PROJECT, "zone": zone}
    return {
        "insertId": f"1a2b3c-{name}",
        "logName": f"projects/{PROJECT}/logs/cloudaudit.googleapis.com%2Fsystem_event",
        "operation": {"id": "systemevent-1", "producer": method, "first": True, "last": True},
        "protoPayload": {
            "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
            "authenticationInfo": {"principalEmail": "system@google.com"},
            "methodName": method,
            "request": {"@type": f"type.googleapis.com/{method}"},
            "resourceName": f"projects/{PROJECT}/zones/{zone}/instances/{name}",
            "serviceName": "compute.googleapis.com",
            **(payload or {}),
        },
        "receiveTimestamp": at.isoformat(),
        "resource": {"type": "gce_instance", "labels": labels},
        "severity": "INFO",
        "timestamp": at.isoformat(),
    }


def tpu_entry(
    name: str, at: datetime, *, method: str = DELETED, kind: str = "queuedResources"
) -> dict[str, object]:
    """Write what is logged when somebody does something to a node or a queued resource."""
    labels = {"method": method, "project_id": PROJECT, "service": "tpu.googleapis.com"}
    return {
        "insertId": f"4d5e6f-{name}",
        "logName": f"projects/{PROJECT}/logs/cloudaudit.googleapis.com%2Factivity",
        "operation": {"id": "operation-1", "producer": "tpu.googleapis.com", "last": True},
        "protoPayload": {
            "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
            "authenticationInfo": {"principalEmail": "ada@example.com"},
            "methodName": method,
            "resourceName": f"projects/{PROJECT}/locations/{ZONE}/{kind}/{name}",
            "serviceName": "tpu.googleapis.com",
        },
        "resource": {"type": "audited_resource", "labels": labels},
        "severity": "NOTICE",
        "timestamp": at.isoformat(),
    }


def as_message(entry: Mapping[str, object]) -> Message:
    """Forward an entry as the sink does: its own attribute, none of ours."""
    at = str(entry["timestamp"])
    return Message(json.dumps(entry).encode(), {"logging.googleapis.com/timestamp": at})
