"""The log of API calls: what was asked of the cloud, by whom, and how it was answered."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from fnmatch import fnmatchcase

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

    def calls(self, *, since: float = 0.0, method: str = "*") -> list[Call]:
        """Return the remembered calls since a moment, of the methods that fit a pattern."""
        return [
            call
            for call in list(self._calls)
            if call.at >= since and fnmatchcase(call.method, method)
        ]
