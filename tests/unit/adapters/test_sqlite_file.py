"""Which files are refused, that refused ones are left alone, and how new ones appear."""

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.adapters.sqlite_file import StateFile
from shared.adapters.sqlite_store import SqliteStore
from shared.errors import StateFileError
from shared.ports import Create


def good_file(path: Path) -> None:
    """Make a state file with something in it."""
    store = SqliteStore(path)
    store.commit([Create(f"jobs/{number}", {"spec": "x" * 2000}) for number in range(100)])
    store.close()


def random_bytes(path: Path) -> None:
    """Make a file of another kind."""
    path.write_bytes(b"\x7fELF" + bytes(range(256)) * 40)


def empty_file(path: Path) -> None:
    """Make a file with nothing in it."""
    path.touch()


def foreign_database(path: Path) -> None:
    """Make a database of another program."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE documents (path TEXT)")
    connection.close()


def newer_version(path: Path) -> None:
    """Make a file as a later version of this program would."""
    good_file(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def truncated(path: Path) -> None:
    """Lose the end of a good file."""
    good_file(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damaged(path: Path) -> None:
    """Overwrite pages in the middle of a good file."""
    good_file(path)
    content = bytearray(path.read_bytes())
    content[8192 : 8192 + 4096] = b"\xaa" * 4096
    path.write_bytes(content)


@pytest.mark.parametrize(
    "make,said",
    [
        pytest.param(random_bytes, "is not a state file", id="another kind of file"),
        pytest.param(empty_file, "is not a state file", id="an empty file"),
        pytest.param(foreign_database, "is not a state file", id="another program's database"),
        pytest.param(newer_version, "has version 99, newer than 1", id="a newer version"),
        pytest.param(truncated, "is damaged", id="a truncated file"),
        pytest.param(damaged, "is damaged", id="a damaged file"),
    ],
)
def test_a_file_that_may_not_be_used_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    """The sentence names the file, and not one byte nor one file beside it changes."""
    path = tmp_path / "state.db"
    make(path)
    before = path.read_bytes()

    with pytest.raises(StateFileError, match=said) as refused:
        StateFile(path)

    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)
    assert before == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())


def test_a_directory_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    """The sentence says what it is not."""
    with pytest.raises(StateFileError, match="is not a file"):
        StateFile(tmp_path)


def test_a_parent_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """No folder can be made there."""
    (tmp_path / "home").touch()

    with pytest.raises(StateFileError, match="cannot be opened"):
        StateFile(tmp_path / "home" / "state.db")


def test_a_journal_without_its_file_is_refused(tmp_path: Path) -> None:
    """SQLite would replay it into the new file."""
    (tmp_path / "state.db-wal").write_bytes(b"x" * 100)

    with pytest.raises(StateFileError, match="is gone, but state"):
        StateFile(tmp_path / "state.db")

    assert not (tmp_path / "state.db").exists()


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Specs may hold what is nobody else's business."""
    StateFile(tmp_path / "home" / "state.db").close()

    assert 0o600 == (tmp_path / "home" / "state.db").stat().st_mode & 0o777


CREATE = """
import sys
from pathlib import Path
from shared.adapters.sqlite_store import SqliteStore
from shared.ports import Create

sys.stdin.readline()
SqliteStore(Path(sys.argv[1])).commit([Create(f"jobs/{sys.argv[2]}", {})])
"""


def test_processes_that_create_the_file_at_once_share_one(tmp_path: Path) -> None:
    """Nobody's first commit is lost and no draft stays behind."""
    path = tmp_path / "state.db"
    creators = [
        subprocess.Popen([sys.executable, "-c", CREATE, path, str(n)], stdin=subprocess.PIPE)
        for n in range(4)
    ]
    for creator in creators:
        creator.communicate(b"go\n")

    store = SqliteStore(path)
    assert [0] * 4 == [creator.returncode for creator in creators]
    assert all(store.get(f"jobs/{number}") for number in range(4))
    store.close()
    assert [path] == list(tmp_path.iterdir())


def test_a_connection_never_crosses_a_thread(tmp_path: Path) -> None:
    """Every thread has its own, and the same one again."""
    file, seen = StateFile(tmp_path / "state.db"), []

    def look() -> None:
        with file.reading() as first, file.reading() as second:
            seen.append((first, first is second))

    for _ in range(2):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    assert [True, True] == [same for _, same in seen]
    assert seen[0][0] is not seen[1][0]
    file.close()


def test_opening_the_file_twice_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """Otherwise another process that closes it would take away the journal in use."""
    path = tmp_path / "state.db"
    first = SqliteStore(path)
    first.commit([Create("jobs/a", {})])
    SqliteStore(path).close()
    code = "import sys; from pathlib import Path; from shared.adapters.sqlite_store import *"

    subprocess.run(
        [sys.executable, "-c", f"{code}; SqliteStore(Path({str(path)!r})).close()"], check=True
    )

    assert (tmp_path / "state.db-wal").exists()
    assert first.get("jobs/a") is not None
    first.close()


def test_importing_the_adapters_loads_no_heavy_library() -> None:
    """The CLI opens the store in the time of a keystroke."""
    code = (
        "import sys, shared.adapters.sqlite_store, shared.adapters.sqlite_bus;"
        "print([m for m in ('google.api_core', 'google.auth', 'pydantic') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]\n" == done.stdout
