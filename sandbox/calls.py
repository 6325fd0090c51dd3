"""The log of API calls: what was asked of the cloud, by whom, and how it was answered.

It is a file of its own, and outlives the sandbox as the cloud's state does.
"""

from __future__ import annotations

import threading
from dataclasses import astuple, dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from sandbox.saved import database

CALLS_KEPT = 200_000
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS calls (number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL,"
    " method TEXT, http_method TEXT, path TEXT, caller TEXT, status INTEGER)"
)
_COLUMNS = "at, method, http_method, path, caller, status"
_ADD = f"INSERT INTO calls ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants
_SINCE = f"SELECT {_COLUMNS} FROM calls WHERE at >= ? ORDER BY number"  # noqa: S608 - constants


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
    """The newest calls, oldest first.  Thread-safe.

    Raises StateError when the file is not readable.
    """

    def __init__(self, path: Path | None = None, *, kept: int = CALLS_KEPT) -> None:
        self._connection = database(path, _SCHEMA)
        self._lock = threading.Lock()
        self._kept = kept

    def add(self, call: Call) -> None:
        """Remember a call, and forget the oldest one if there are too many."""
        with self._lock:
            number = self._connection.execute(_ADD, astuple(call)).lastrowid
            assert number is not None, "a row that was inserted has a number"
            self._connection.execute("DELETE FROM calls WHERE number <= ?", (number - self._kept,))

    def calls(self, *, since: float = 0.0, method: str = "*") -> list[Call]:
        """Return the remembered calls since a moment, of the methods that fit a pattern."""
        with self._lock:
            rows = self._connection.execute(_SINCE, (since,)).fetchall()
        return [call for call in (Call(*row) for row in rows) if fnmatchcase(call.method, method)]

    @property
    def forgotten(self) -> int:
        """How many calls there were before the oldest one that is remembered."""
        with self._lock:
            [[oldest]] = self._connection.execute("SELECT MIN(number) FROM calls").fetchall()
        return 0 if oldest is None else int(oldest) - 1
