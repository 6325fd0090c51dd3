"""A process that commits and publishes is killed at random moments; nothing it was told is lost."""

import random
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from shared.adapters.sqlite_bus import SqliteBus
from shared.adapters.sqlite_store import SqliteStore
from shared.ports import Query
from shared.topology import EMBEDDED_SUBSCRIPTIONS

KILLS = 20

# Each round writes two documents in one commit, then publishes two messages in one call, and
# says so only afterwards. It never stops by itself.
WRITER = """
import sys
from itertools import count
from pathlib import Path
from shared.adapters.sqlite_bus import SqliteBus
from shared.adapters.sqlite_store import SqliteStore
from shared.ports import Create, Message
from shared.topology import EMBEDDED_SUBSCRIPTIONS

path, life = Path(sys.argv[1]), sys.argv[2]
store, bus = SqliteStore(path), SqliteBus(path, EMBEDDED_SUBSCRIPTIONS)
for number in count():
    name = f"{life}-{number:05}"
    store.commit([Create(f"jobs/{name}", {"pad": "x" * 3000}), Create(f"outbox/{name}", {})])
    print("committed", name, flush=True)
    bus.publish("launches", [Message(name.encode(), {"half": half}) for half in "ab"])
    print("published", name, flush=True)
"""


def live_and_die(path: Path, life: int, lines_max: int) -> list[list[str]]:
    """Start a writer, kill it after some lines, and return all that it was told was done."""
    command = [sys.executable, "-c", WRITER, str(path), f"{life:02}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        lines: IO[str] | None = writer.stdout
        assert lines is not None
        told = [lines.readline() for _ in range(lines_max)]
        writer.kill()
        told += lines.readlines()
    assert writer.returncode == -9
    return [line.split() for line in told if line.endswith("\n")]


def names_in(store: SqliteStore, collection: str, life: int) -> set[str]:
    """Return the names that one life left in a collection."""
    found = store.query(Query(collection, limit=100_000))
    names = {document.path.rpartition("/")[2] for document in found}
    return {name for name in names if name.startswith(f"{life:02}-")}


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_and_nothing_is_half_done(tmp_path: Path) -> None:
    """Twenty lives on one file; each is checked as soon as it ended."""
    path, chance = tmp_path / "state.db", random.Random(20)

    for life in range(KILLS):
        told = live_and_die(path, life, chance.randrange(1, 120))

        store = SqliteStore(path)
        store.verify()
        jobs, outbox = names_in(store, "jobs", life), names_in(store, "outbox", life)
        store.close()
        assert {name for said, name in told if said == "committed"} <= jobs
        assert jobs == outbox, "a commit is whole"
        check_messages(path, life, {name for said, name in told if said == "published"})


def check_messages(path: Path, life: int, published: set[str]) -> None:
    """Pull everything: all that was told is there, and in pairs."""
    bus = SqliteBus(path, EMBEDDED_SUBSCRIPTIONS)
    pulled = bus.pull("launch", limit=100_000)
    halves = {(d.message.data.decode(), d.message.attributes["half"]) for d in pulled}
    names = {name for name, _ in halves}
    for delivery in pulled:
        bus.ack(delivery)
    bus.close()

    assert published <= names
    assert {(name, half) for name in names for half in "ab"} == halves
    assert all(name.startswith(f"{life:02}-") for name in names), "acknowledged ones are gone"
