"""The log of API calls: what was asked of the cloud, by whom, and how it was answered."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

CALLS_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call.  ``caller`` is a host, or the user agent of whoever called from outside."""

    at: float
    method: str
    http_method: str
    path: str
    caller: str
    status: int


class CallLog:
    """The newest calls, oldest first."""

    def __init__(self) -> None:
        self._calls: deque[Call] = deque(maxlen=CALLS_KEPT)

    def add(self, call: Call) -> None:
        """Remember a call."""
        self._calls.append(call)

    def calls(self) -> list[Call]:
        """Return all remembered calls."""
        return list(self._calls)
