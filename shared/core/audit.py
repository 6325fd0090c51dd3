"""Entries of Google's audit log: what one of them says of our machines (docs/audit-events.md).

A sink of the project forwards them as they are written to the log. Only the few words that
``classify`` knows mean anything here; a sink may be widened and Google may add methods, so
every other entry is nobody's business and no error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
)

from shared.core.causes import Cause
from shared.core.instances import INSTANCE
from shared.errors import InvalidRequest

# Cloud Logging keeps no entry over 256 KiB; written as JSON it may be larger.
ENTRY_BYTES_MAX = 1024 * 1024
# What an older entry says may be over by now: a VM that crashed may have been restarted.
NEWS_S = 600.0

_LOSSES: Mapping[str, Cause] = {
    "compute.instances.preempted": Cause.PREEMPTED,
    "compute.instances.hostError": Cause.HOST_LOST,
    "compute.instances.terminateOnHostMaintenance": Cause.MAINTENANCE,
}
_ANNOUNCES = "compute.instances.upcomingMaintenance"
# The end of a maintenance is logged under the same method.
_OVER = "has completed"
_TPU = "tpu.googleapis.com"
# What our own looks at the cloud leave in the log must not make us look again.
_READS = ("Get", "List", "Fetch", "get", "list", "fetch")

_LOG = re.compile(r"projects/([^/]+)/logs/cloudaudit\.googleapis\.com(?:%2F|/)\w+")
_LOG_ENDS = ("system_event", "activity")
_VM = re.compile(r"projects/([^/]+)/zones/([^/]+)/instances/([^/]+)")
_NODE = re.compile(r"projects/([^/]+)/locations/([^/]+)/(?:nodes|queuedResources)/([^/]+)")
_WHERE_CHARS_MAX = 100

Name = Annotated[str, Field(max_length=2048)]
_TIME = TypeAdapter(AwareDatetime, config=ConfigDict(defer_build=True))


class _Part(BaseModel):
    """Fields that nobody here reads are ignored, whatever Google puts into them."""

    model_config = ConfigDict(frozen=True, strict=True, defer_build=True)


class _Status(_Part):
    message: str = ""


class _Metadata(_Part):
    window_starts: JsonValue = Field(default=None, alias="windowStartTime")


class _Payload(_Part):
    service: Name = Field(default="", alias="serviceName")
    method: Name = Field(default="", alias="methodName")
    resource: Name = Field(default="", alias="resourceName")
    status: _Status = Field(default_factory=_Status)
    metadata: _Metadata = Field(default_factory=_Metadata)


class _Resource(_Part):
    labels: Annotated[Mapping[Name, Name], Field(max_length=64)] = {}


class Entry(_Part):
    """One entry as Google's sink forwards it."""

    log: Name = Field(alias="logName")
    at: AwareDatetime = Field(alias="timestamp")
    payload: _Payload = Field(alias="protoPayload")
    resource: _Resource = Field(default_factory=_Resource)

    @property
    def method(self) -> str:
        """What happened, without the version of the API that some entries put before it."""
        return self.payload.method.removeprefix("v1.")


class Meaning(StrEnum):
    """What an entry asks of us."""

    LOST = "lost"  # the VM is gone
    AHEAD = "ahead"  # the VM will go some day
    TOUCHED = "touched"  # somebody did something to a node or a queued resource: look


@dataclass(frozen=True, slots=True)
class Word:
    """What an entry says of one VM, or of one node or queued resource, by its ``name``."""

    meaning: Meaning
    name: str
    zone: str
    at: datetime
    detail: str
    cause: Cause | None = None


def parse(data: bytes) -> Entry:
    """Read an entry.  Raises InvalidRequest with the first field that is wrong."""
    if len(data) > ENTRY_BYTES_MAX:
        raise InvalidRequest(f"audit log: {len(data)} bytes are no entry")
    try:
        return Entry.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:_WHERE_CHARS_MAX] or "entry"
        raise InvalidRequest(f"audit log: {where}: {first['msg']}") from None


def classify(entry: Entry, project: str) -> Word | None:
    """Say what an entry means to the installation of a project; None for nothing."""
    vm, node = _VM.fullmatch(entry.payload.resource), _NODE.fullmatch(entry.payload.resource)
    found = vm or node
    if found is None or not _is_of(entry, project, found[1]):
        return None
    if node is not None:
        return _of_node(entry, zone=node[2], name=node[3])
    return _of_vm(entry, zone=found[2], name=found[3])


def _is_of(entry: Entry, project: str, owner: str) -> bool:
    """Believe the two logs of what was done in this very project, and no other.

    A sink of an organization forwards the entries of all its projects. Some entries call their
    project by its number, which nobody here knows.
    """
    log = _LOG.fullmatch(entry.log)
    if log is None or not entry.log.endswith(_LOG_ENDS):
        return False
    named = {log[1], owner, entry.resource.labels.get("project_id", project)}
    return {each for each in named if not each.isdigit()} == {project}


def _of_vm(entry: Entry, *, zone: str, name: str) -> Word | None:
    if not INSTANCE.fullmatch(name):
        return None
    if entry.method in _LOSSES:
        detail, cause = f"audit log: {entry.method}", _LOSSES[entry.method]
        return Word(Meaning.LOST, name, zone, entry.at, detail, cause)
    if entry.method == _ANNOUNCES and _OVER not in entry.payload.status.message:
        return Word(Meaning.AHEAD, name, zone, entry.at, _announced(entry.payload.metadata))
    return None


def _of_node(entry: Entry, *, zone: str, name: str) -> Word | None:
    """Whatever was done, by whomever: the cloud itself says what came of it."""
    called = entry.method.rpartition(".")[2]
    if entry.payload.service != _TPU or called.startswith(_READS):
        return None
    return Word(Meaning.TOUCHED, name, zone, entry.at, f"audit log: {called[:_WHERE_CHARS_MAX]}")


def _announced(metadata: _Metadata) -> str:
    """Name the window's begin, if the entry does."""
    try:
        starts = _TIME.validate_python(metadata.window_starts).astimezone(UTC)
    except (ValidationError, OverflowError):
        return "maintenance is announced"
    return f"maintenance is announced for {starts:%Y-%m-%d %H:%M} UTC"
