"""The cloud's state in a file, so that it is there again after any end of the sandbox.

Records are frozen: one that is still the same object was not changed, and is not written again.
SQLite, because a process may be killed between any two instructions.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox.errors import SandboxError
from shared.core.codec import from_fields, to_fields
from shared.errors import Unreadable

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS records"
    " (kind TEXT, name TEXT, value TEXT, PRIMARY KEY (kind, name))"
)
_PUT = "INSERT OR REPLACE INTO records VALUES (?, ?, ?)"
_DROP = "DELETE FROM records WHERE kind = ? AND name = ?"
# The kind of what is no record: plain values, one a name.
_PLAIN = "plain"


class StateError(SandboxError):
    """The state of an earlier sandbox cannot be used."""


class Saved:
    """One file.  Not thread-safe: its owner holds a lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = database(path, _SCHEMA)
        self._written: dict[str, dict[str, object]] = {}
        self._plain: dict[str, object] = {}

    def load(self, kinds: Mapping[str, type]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
        """Return all records by kind and name, and the plain values.  Raises StateError."""
        tables: dict[str, dict[str, Any]] = {kind: {} for kind in kinds}
        with _told(self._path):
            for kind, name, value in self._connection.execute("SELECT * FROM records"):
                if kind == _PLAIN:
                    self._plain[name] = json.loads(value)
                elif kind in kinds:
                    tables[kind][name] = from_fields(kinds[kind], json.loads(value))
        self._written = {kind: dict(table) for kind, table in tables.items()}
        return tables, dict(self._plain)

    def save(self, tables: Mapping[str, Mapping[str, object]], plain: Mapping[str, object]) -> None:
        """Write what has changed, all of it or nothing; plain values are kept as they are."""
        puts, drops = [], []
        for kind, table in tables.items():
            written = self._written.setdefault(kind, {})
            changed = {name: each for name, each in table.items() if written.get(name) is not each}
            written.update(changed)
            gone = written.keys() - table.keys() if len(written) > len(table) else set()
            puts += [(kind, name, _text(each)) for name, each in changed.items()]
            drops += [(kind, name) for name in gone]
            for name in gone:
                del written[name]
        for name, value in plain.items():
            if name not in self._plain or self._plain[name] != value:
                puts.append((_PLAIN, name, json.dumps(value)))
                self._plain[name] = value
        if puts or drops:
            self._write(puts, drops)

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()

    def _write(self, puts: list[tuple[str, str, str]], drops: list[tuple[str, str]]) -> None:
        self._connection.execute("BEGIN")
        self._connection.executemany(_PUT, puts)
        self._connection.executemany(_DROP, drops)
        self._connection.execute("COMMIT")


def database(path: Path | None, schema: str) -> sqlite3.Connection:
    """Open a file, or what is in memory only, with a table that it may have.

    Any thread may use it, one at a time. Raises StateError when it cannot be read.
    """
    with _told(path):
        found = sqlite3.connect(path or ":memory:", check_same_thread=False, isolation_level=None)
        # A killed process loses nothing by that, only a machine without power does.
        found.execute("PRAGMA synchronous = OFF")
        found.execute("PRAGMA journal_mode = WAL")
        found.execute(schema)
    return found


@contextmanager
def _told(path: Path | None) -> Iterator[None]:
    """Say which file is not readable, and what to do about it."""
    try:
        yield
    except (sqlite3.DatabaseError, ValueError, Unreadable) as error:
        raise StateError(
            f"{path} cannot be read: {error}; `tpuctl sandbox forget` throws the state"
            " of this sandbox away"
        ) from None


def _text(record: object) -> str:
    return json.dumps(to_fields(record), default=sorted)
