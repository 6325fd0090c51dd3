"""What the store in a file has beyond the contract: declared indexes, a clock that stands still."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from shared.adapters.sqlite_query import compile_query
from shared.adapters.sqlite_schema import index_name
from shared.adapters.sqlite_store import SqliteStore
from shared.ports import Create, Document, Query, Replace, Where
from shared.topology import INDEXES, Index
from tests.fakes import FakeClock


def plan_of(store: SqliteStore, query: Query) -> str:
    """Ask SQLite how it would answer."""
    statement = compile_query(query)
    with store._file.reading() as connection:
        rows = connection.execute(
            f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters
        ).fetchall()
    return "\n".join(row[3] for row in rows)


@pytest.mark.parametrize("index", INDEXES, ids=index_name)
@pytest.mark.parametrize("downwards", [False, True], ids=["up", "down"])
def test_every_declared_index_is_used(tmp_path: Path, index: Index, *, downwards: bool) -> None:
    """Equality on the leading fields, a range and an order on the last: searched, not sorted."""
    store = SqliteStore(tmp_path / "state.db")
    *leading, last = index.names
    where = (*(Where(field, "==", "x") for field in leading), Where(last, "<=", 7))
    order_by = f"-{last}" if downwards else last

    plan = plan_of(store, Query(index.collection, where, order_by))

    assert f"SEARCH documents USING INDEX {index_name(index)} (" in plan
    assert "TEMP B-TREE" not in plan
    store.close()


def test_listing_a_collection_by_path_is_indexed(tmp_path: Path) -> None:
    """Also a collection nobody declared."""
    store = SqliteStore(tmp_path / "state.db")

    plan = plan_of(store, Query("jobs/a/timeline"))

    assert "SEARCH documents USING INDEX by_collection" in plan
    assert "TEMP B-TREE" not in plan
    store.close()


def read(store: SqliteStore) -> Document:
    """Read the one document of these tests."""
    found = store.get("jobs/a")
    assert found is not None
    return found


def test_a_backward_jump_never_makes_an_age_longer(tmp_path: Path) -> None:
    """Written after the jump, read after the jump was undone: only real time has passed."""
    clock = FakeClock()
    store = SqliteStore(tmp_path / "state.db", clock)
    store.commit([Create("jobs/a", {})])
    clock.advance(-3600)
    store.commit([Replace("jobs/a", {}, read(store).token)])

    clock.advance(3600 + 5)

    found = read(store)
    assert timedelta(seconds=5) == found.read_at - found.updated_at
    store.close()


def test_after_a_backward_jump_no_age_is_negative(tmp_path: Path) -> None:
    """Time stands still until the jump is made up, also in another process."""
    clock = FakeClock()
    store = SqliteStore(tmp_path / "state.db", clock)
    store.commit([Create("jobs/a", {})])
    store.close()
    clock.advance(-3600)

    again = SqliteStore(tmp_path / "state.db", clock)

    assert timedelta(0) == read(again).read_at - read(again).updated_at
    [found] = again.query(Query("jobs"))
    assert timedelta(0) == found.read_at - found.updated_at
    again.close()


COUNT = """
import sys
from pathlib import Path
from shared.adapters.sqlite_store import SqliteStore
from shared.errors import Conflict
from shared.ports import Create, Replace

store = SqliteStore(Path(sys.argv[1]))
done = 0
while done < 25:
    seen = store.get("jobs/a")
    count = seen.fields["n"] + 1
    try:
        store.commit([Replace("jobs/a", {"n": count}, seen.token), Create(f"outbox/{count}", {})])
    except Conflict:
        continue
    done += 1
"""


def test_four_processes_count_exactly(tmp_path: Path) -> None:
    """No increment is lost and none is done twice, and each left its outbox document."""
    store = SqliteStore(tmp_path / "state.db")
    store.commit([Create("jobs/a", {"n": 0})])
    command = [sys.executable, "-c", COUNT, str(tmp_path / "state.db")]

    counters = [subprocess.Popen(command) for _ in range(4)]

    assert [0, 0, 0, 0] == [counter.wait() for counter in counters]
    assert {"n": 100} == read(store).fields
    assert 100 == len(store.query(Query("outbox", limit=200)))
    store.close()
