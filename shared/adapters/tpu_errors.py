"""The taxonomy of Cloud TPU's errors: what is seen, and what it means for us.

Code and text decide together, because Google uses one code for things that ask for opposite
reactions: no capacity, no quota and too many requests are all RESOURCE_EXHAUSTED. The first row
that fits wins. What no row knows may pass, and counts as Unavailable.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from shared.errors import (
    Busy,
    ControlPlaneError,
    InvalidRequest,
    NoAccess,
    NotAuthorized,
    QuotaExceeded,
    RateLimited,
    Stockout,
    Unavailable,
)
from shared.log import without_secrets

# google.rpc.Code, as failed operations and failed queued resources carry it.
STATUS_OF_CODE: Final = {
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    6: "ALREADY_EXISTS",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    10: "ABORTED",
    12: "UNIMPLEMENTED",
    13: "INTERNAL",
    14: "UNAVAILABLE",
    16: "UNAUTHENTICATED",
}

_Make: TypeAlias = Callable[[str, str], ControlPlaneError]
_EXHAUSTED: Final = frozenset({"RESOURCE_EXHAUSTED"})
_CAPACITY: Final = frozenset({"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION"})
_QUOTA: Final = frozenset({"RESOURCE_EXHAUSTED", "INVALID_ARGUMENT", "FAILED_PRECONDITION"})
_STATE: Final = frozenset({"FAILED_PRECONDITION", "INVALID_ARGUMENT", "ALREADY_EXISTS", "ABORTED"})
_DENIED: Final = frozenset({"PERMISSION_DENIED", "UNAUTHENTICATED"})
_WRONG: Final = frozenset(
    {"INVALID_ARGUMENT", "FAILED_PRECONDITION", "NOT_FOUND", "ALREADY_EXISTS", "UNIMPLEMENTED"}
)


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is seen, and the error it becomes (made from zone and text)."""

    statuses: frozenset[str]
    text: str
    make: _Make


ROWS: Final = (
    Row(
        _CAPACITY,
        r"no more capacity|insufficient (reserved )?capacity",
        lambda zone, text: Stockout(text, zone=zone),
    ),
    Row(_EXHAUSTED, r"per minute|quota metric '[^']*requests", lambda _, text: RateLimited(text)),
    Row(
        _QUOTA,
        r"quota limit|quota exceeded|quota .*has been exceeded|reservation for request queue",
        lambda _, text: QuotaExceeded(text),
    ),
    Row(_EXHAUSTED, r"", lambda _, text: RateLimited(text)),
    Row(
        _DENIED,
        r"location .* is not found or access is unauthorized",
        lambda _, text: NoAccess(text),
    ),
    Row(_DENIED, r"", lambda _, text: NotAuthorized(text)),
    Row(
        _STATE,
        r"being deleted|in state (PREEMPTED|SUSPENDED|SUSPENDING|DELETING)",
        lambda _, text: Busy(text),
    ),
    Row(_WRONG, r"", lambda _, text: InvalidRequest(text)),
)


def classify(status: str, text: str, *, zone: str) -> ControlPlaneError:
    """Return the error that a status name and a text mean in a zone."""
    for row in ROWS:
        if status in row.statuses and re.search(row.text, text, re.IGNORECASE):
            return row.make(zone, text)
    return Unavailable(text)


def describe(code: int, text: str) -> str:
    """Write a ``google.rpc.Status`` as one line that ``classify_line`` reads back."""
    return f"{STATUS_OF_CODE.get(code, 'UNKNOWN')}: {without_secrets(text)}"


def classify_line(line: str, *, zone: str) -> ControlPlaneError:
    """Return what a line of ``describe`` means."""
    status, _, text = line.partition(": ")
    return classify(status, text, zone=zone)
