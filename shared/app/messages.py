"""What travels on the internal topics: two events that carry nothing that could be believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from shared.core.alerts import Alert, fields_of
from shared.errors import InvalidRequest
from shared.ports import Message
from shared.topology import Topic

NAME_CHARS_MAX = 128


class MessageKind(StrEnum):
    """The attribute ``kind`` of every message."""

    COMMAND = "command"
    SNAPSHOT = "snapshot"
    CANARY = "canary"
    SLICE_DUE = "slice-due"
    JOB_DUE = "job-due"
    ORPHAN_FOUND = "orphan-found"
    ALERT = "alert"


@dataclass(frozen=True, slots=True)
class Wake:
    """A topic, and the message on it that makes somebody look at a slice.

    ``look`` asks recovery to look at the cloud as well. It is a hint: forged, it costs a few reads.
    """

    topic: Topic
    slice: str
    reason: str
    look: bool = False

    def message(self) -> Message:
        """Write it for the bus."""
        is_launch = self.topic is Topic.LAUNCHES
        kind = MessageKind.JOB_DUE if is_launch else MessageKind.SLICE_DUE
        look = {"look": True} if self.look else {}
        return message(kind, {"slice": self.slice, "reason": self.reason, **look})


def wake_launch(slice_: str, reason: str) -> Wake:
    """Make launch look at a slice and its job."""
    return Wake(Topic.LAUNCHES, slice_, reason)


def wake_recovery(slice_: str, reason: str, *, look: bool = False) -> Wake:
    """Make recovery look at a slice, and at the cloud if there is reason to."""
    return Wake(Topic.PREEMPTIONS, slice_, reason, look)


def message(kind: MessageKind, fields: Mapping[str, object]) -> Message:
    """Write a message of some kind."""
    data = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    return Message(data, {"kind": str(kind), "version": "1"})


def alert_message(alert: Alert) -> Message:
    """Write an alert; its attributes are what subscriptions may filter by."""
    told = message(MessageKind.ALERT, fields_of(alert))
    filters = {"alert": alert.kind, "severity": alert.severity, "owner": alert.owner}
    return replace(told, attributes={**told.attributes, **filters})


def read(data: bytes) -> Mapping[str, object]:
    """Read a message's JSON object.  Raises InvalidRequest."""
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidRequest("the message is not JSON") from None
    if not isinstance(fields, dict):
        raise InvalidRequest("the message is not an object")
    return fields


def name_in(fields: Mapping[str, object], key: str) -> str:
    """Read a name from a message.  Raises InvalidRequest."""
    value = fields.get(key)
    if not isinstance(value, str) or not 0 < len(value) <= NAME_CHARS_MAX or "/" in value:
        raise InvalidRequest(f"{key}: expected a name")
    return value
