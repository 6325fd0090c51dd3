"""The one file that holds the embedded Store and Bus, shared by processes and threads.

A connection belongs to one thread of one process; SQLite's locks do the rest. A file that is
not ours, is damaged, or was written by a newer program is refused and never written to. A new
file appears at once and complete, or not at all.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from shared.adapters.sqlite_schema import (
    APPLICATION_ID,
    HEADER,
    TABLES,
    VERSION,
    index_ddl,
    index_name,
)
from shared.errors import StateFileError, Unavailable
from shared.topology import INDEXES

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY_TIMEOUT_S: Final = 10.0
CHECKED_BYTES_MAX: Final = 4 * 2**20  # a smaller file is read whole when it is opened: 3 ms
# What SQLite's errors say of the file itself; all others may pass.
_REFUSED: Final = {
    sqlite3.SQLITE_CORRUPT: ("is damaged", "restore it from a backup"),
    sqlite3.SQLITE_NOTADB: ("is not a state file of tpuctl", "move it away or name another"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "check the path and its rights"),
    sqlite3.SQLITE_READONLY: ("cannot be written", "check the path and its rights"),
}
_PRIMARY_CODE: Final = 0xFF  # SQLite's extended codes carry the plain one in the low byte


class _Connection(sqlite3.Connection):
    """A connection that can be referred to weakly, so that a thread's end closes its own."""


class StateFile:
    """A state file that was found good; opens a connection for every thread that asks.

    Raises StateFileError when the file may not be used, Unavailable when SQLite fails.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._connections: WeakSet[_Connection] = WeakSet()
        try:
            with self._translated():
                self._open()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the thread's connection; every statement sees one moment."""
        with self._translated():
            yield self._connection()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection inside a transaction that alone may write."""
        with self._translated():
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def verify(self) -> None:
        """Read the whole file and refuse it if any page is damaged (slow: all of it is read)."""
        with self.reading() as connection:
            verdict = _quick_check(connection)
        if verdict != "ok":
            raise _damage(self.path, verdict)

    def close(self) -> None:
        """Close the connections of all threads of this process; none may be in use."""
        for connection in list(self._connections):
            connection.close()
        self._connections.clear()
        self._local = threading.local()

    def _open(self) -> None:
        """Make the file if it is missing, and see that it may be used."""
        if not self.path.exists():
            _create(self.path)
        if not self.path.is_file():
            raise _refusal(self.path, "is not a file", "name another")
        _refuse_unusable(self.path)
        self._ensure_indexes()

    def _connection(self) -> _Connection:
        """Return this thread's connection; one that came through a fork is never used."""
        held: tuple[int, _Connection] | None = getattr(self._local, "held", None)
        if held is None or held[0] != os.getpid():
            held = (os.getpid(), _connect(self.path))
            self._local.held = held
            self._connections.add(held[1])
        return held[1]

    def _ensure_indexes(self) -> None:
        """Create the indexes that this version declares and the file lacks."""
        names = "SELECT name FROM sqlite_schema WHERE type = 'index'"
        with self.reading() as connection:
            found = {name for (name,) in connection.execute(names)}
        missing = [index for index in INDEXES if index_name(index) not in found]
        if not missing:
            return
        with self.writing() as connection:
            for index in missing:
                connection.execute(index_ddl(index))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise _error_of(self.path, error) from error
        except OSError as error:
            what, remedy = _REFUSED[sqlite3.SQLITE_CANTOPEN]
            raise _refusal(self.path, f"{what} ({error.strerror})", remedy) from error


def _connect(path: Path) -> _Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,  # transactions begin and end where this module says so
        check_same_thread=False,  # only close() reaches over
        factory=_Connection,
    )
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _create(path: Path) -> None:
    """Make a complete new file beside its place and link it there, unless somebody was first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _refuse_orphaned_journal(path)
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}.new")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        connection = sqlite3.connect(draft, isolation_level=None)
        connection.executescript(f"BEGIN; {TABLES} {HEADER} COMMIT;")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        _link(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _link(draft: Path, path: Path) -> None:
    """Give the draft its name in one step; a file that is there already stays."""
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _refuse_orphaned_journal(path: Path) -> None:
    """Refuse to make a file beside a journal whose own file is gone: SQLite would replay it."""
    journal = _journal_of(path)
    if journal.exists() and not path.exists():
        raise _refusal(path, f"is gone, but {journal.name} is there", "restore or remove both")


def _refuse_unusable(path: Path) -> None:
    """Refuse a file that is not ours, newer or damaged, without a lock and without a write.

    SQLite itself does the reading: closing a file descriptor of our own would drop the locks of
    all other connections of this process. A file looks damaged while another process moves its
    journal into it, so damage counts only if there was no journal and nobody wrote meanwhile.
    """
    before = _trace(path)
    verdict = _look_at(path, is_at_rest=before.journal_bytes == 0)
    if verdict != "ok" and before.journal_bytes == 0 and before == _trace(path):
        raise _damage(path, verdict)


def _look_at(path: Path, *, is_at_rest: bool) -> str:
    """Check the header, and the pages if they can be soon read; return "ok" or the damage."""
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        _refuse_foreign(path, _pragma(connection, "application_id"))
        _refuse_newer(path, _pragma(connection, "user_version"))
        is_small = is_at_rest and path.stat().st_size <= CHECKED_BYTES_MAX
        return _quick_check(connection) if is_small else "ok"
    except sqlite3.DatabaseError as error:
        if _code_of(error) != sqlite3.SQLITE_CORRUPT:
            raise
        return str(error)
    finally:
        connection.close()


def _quick_check(connection: sqlite3.Connection) -> str:
    """Return "ok", or what is wrong with the first damaged page, in one line."""
    return " ".join(str(_pragma(connection, "quick_check(1)")).split())


@dataclass(frozen=True, slots=True)
class _Trace:
    """What changes when somebody writes."""

    written_ns: int
    file_bytes: int
    journal_bytes: int


def _trace(path: Path) -> _Trace:
    found, journal = path.stat(), _journal_of(path)
    try:
        journal_bytes = journal.stat().st_size
    except FileNotFoundError:
        journal_bytes = 0
    return _Trace(found.st_mtime_ns, found.st_size, journal_bytes)


def _journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _refuse_foreign(path: Path, application_id: object) -> None:
    if application_id != APPLICATION_ID:
        raise _refusal(path, *_REFUSED[sqlite3.SQLITE_NOTADB])


def _refuse_newer(path: Path, version: object) -> None:
    assert isinstance(version, int), "SQLite's user_version is a number"
    if version > VERSION:
        what = f"has version {version}, newer than {VERSION}"
        raise _refusal(path, what, "upgrade tpuctl to use it")


def _error_of(path: Path, error: sqlite3.Error) -> StateFileError | Unavailable:
    """Tell a file that may not be used from one that may answer next time."""
    code = _code_of(error)
    if code in _REFUSED:
        what, remedy = _REFUSED[code]
        return _refusal(path, f"{what} ({error})", remedy)
    return Unavailable(f"the state file {path} did not answer: {error}")


def _code_of(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE


def _damage(path: Path, verdict: str) -> StateFileError:
    what, remedy = _REFUSED[sqlite3.SQLITE_CORRUPT]
    return _refusal(path, f"{what} ({verdict})", remedy)


def _refusal(path: Path, what: str, remedy: str) -> StateFileError:
    return StateFileError(f"{path} {what}; it was left as it is: {remedy}")
