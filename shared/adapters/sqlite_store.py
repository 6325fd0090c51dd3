"""The Store in one SQLite file, for any number of processes and threads of one machine.

The compare-and-set token is one counter for the whole file, so a document that was deleted and
made again never repeats one. The store's clock never runs backwards: the file remembers the
highest time it gave out, and after a backward jump of the wall clock time stands still until
the jump is made up. An age can look too short then, and a wait be too long; never the reverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.adapters.document_rules import Prepared, conflict_text, prepare
from shared.adapters.sqlite_codec import decode, from_us, to_us
from shared.adapters.sqlite_file import StateFile
from shared.adapters.sqlite_query import COLUMNS, compile_query
from shared.adapters.system import SystemClock
from shared.errors import Conflict
from shared.ports import Create, Delete, Document, Guard, Query, Replace

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from shared.ports import Clock, Write


class SqliteStore:
    """Documents with compare-and-set and atomic commits, in a file made when it is missing.

    Raises StateFileError when the file may not be used.
    """

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._file = StateFile(path)
        self._clock = clock or SystemClock()

    def get(self, path: str) -> Document | None:
        """Read one document, or None."""
        now_us = to_us(self._clock.now())
        sql = f"SELECT {COLUMNS} FROM documents WHERE path = ?"  # noqa: S608 - a constant
        with self._file.reading() as connection:
            row = connection.execute(sql, (path,)).fetchone()
        return _document(row, now_us) if row else None

    def query(self, query: Query) -> list[Document]:
        """Read the documents that match, all at one moment."""
        now_us = to_us(self._clock.now())
        statement = compile_query(query)
        with self._file.reading() as connection:
            rows = connection.execute(statement.sql, statement.parameters).fetchall()
        return [_document(row, now_us) for row in rows]

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply all writes or none."""
        prepared = prepare(writes)
        if not prepared:
            return
        now_us = to_us(self._clock.now())
        with self._file.writing() as connection:
            stamp = _next_stamp(connection, now_us)
            for write in prepared:
                _apply(connection, write, stamp)

    def dump(self) -> Iterator[Document]:
        """Read every document there is, by path, all as they were at one moment."""
        now_us = to_us(self._clock.now())
        with self._file.reading() as connection:
            sql = f"SELECT {COLUMNS} FROM documents ORDER BY path"  # noqa: S608 - a constant
            for row in connection.execute(sql):
                yield _document(row, now_us)

    def verify(self) -> None:
        """Read the whole file; raise StateFileError if any of it is damaged."""
        self._file.verify()

    def close(self) -> None:
        """Close the file in this process; no call may be under way."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What one commit gives to all it writes."""

    token: int
    now_us: int


def _next_stamp(connection: sqlite3.Connection, now_us: int) -> _Stamp:
    """Take the next token and the time, and leave both as marks in the file."""
    token, clock_us = connection.execute("SELECT token, clock_us FROM mark").fetchone()
    stamp = _Stamp(token + 1, max(now_us, clock_us))
    connection.execute("UPDATE mark SET token = ?, clock_us = ?", (stamp.token, stamp.now_us))
    return stamp


def _apply(connection: sqlite3.Connection, prepared: Prepared, stamp: _Stamp) -> None:
    """Do one write; a precondition that fails raises and so undoes the whole commit."""
    write, text = prepared.write, prepared.text
    match write:
        case Create(path):
            done = connection.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (path, prepared.collection, text, stamp.token, stamp.now_us),
            ).rowcount
        case Replace(path, _, token):
            done = connection.execute(
                "UPDATE documents SET fields = ?, token = ?, updated_us = ?"
                " WHERE path = ? AND token = CAST(? AS INTEGER)",
                (text, stamp.token, stamp.now_us, path, token),
            ).rowcount
        case Guard(path, token):
            done = connection.execute(
                "SELECT count(*) FROM documents WHERE path = ? AND token = CAST(? AS INTEGER)",
                (path, token),
            ).fetchone()[0]
        case Delete(path, None):
            connection.execute("DELETE FROM documents WHERE path = ?", (path,))
            done = 1
        case Delete(path, token):
            done = connection.execute(
                "DELETE FROM documents WHERE path = ? AND token = CAST(? AS INTEGER)",
                (path, token),
            ).rowcount
    if done != 1:
        raise Conflict(conflict_text(write, is_create=isinstance(write, Create)))


def _document(row: tuple[str, str, int, int, int], now_us: int) -> Document:
    path, text, token, updated_us, clock_us = row
    return Document(
        path=path,
        fields=decode(text),
        token=str(token),
        updated_at=from_us(updated_us),
        read_at=from_us(max(now_us, clock_us)),
    )
