"""`tpuctl history`: what was done to my jobs and by whom, since I last looked."""

import json
from threading import Barrier
from typing import Any

import pytest
from pytest_mock import MockerFixture

from shared.adapters.firestore_query import query_pb
from shared.adapters.sqlite_store import SqliteStore
from shared.core.slices import Kind, Slice
from shared.core.stages import Stage
from shared.ports import Document, Query
from tests.unit.cli.stage import OWNER, Installed, Tpuctl, ago, make_job, make_slice

PATIENCE_S = 30.0


def order(installed: Installed, key: str, kind: str, seconds: float, **fields: Any) -> None:
    """Write what became of an order."""
    told = {"id": key, "kind": kind, "owner": OWNER, "outcome": "accepted", "reason": ""}
    about = {"job": "", "number": 0, "created_at": ago(seconds), "owner_email": ""}
    installed.put(f"commands/{key}", {**told, **about, **fields})


def tell(installed: Installed, name: str, seconds: float, event: str, **changes: Any) -> Slice:
    """Write a slice of mine, and an entry of its timeline."""
    slice_ = installed.put_slice(make_slice(make_job(9), name=name, **changes))
    entry = {"at": ago(seconds), "who": "launch", "event": event, "text": f"{name}: {event}"}
    installed.put(f"slices/{name}/timeline/{event}", entry)
    return slice_


@pytest.fixture(autouse=True)
def past(installed: Installed) -> None:
    """Have two jobs with a past, one of them of somebody else."""
    job = installed.put_job(make_job(4, name="digits"))
    other = installed.put_job(make_job(5, owner="grace"))
    for seconds, event, text in (
        (90000, "JobSubmitted", "job 4 digits by ada, on digits-s"),
        (300, "SliceLost", "x: preempted"),
        (200, "StopOrdered", "stopped by grace"),
        (100, "WriterDead", "attempt 0 writes no more"),
    ):
        key = f"{99999 - seconds:06d}"
        installed.say(job, key, text, event=event, at=ago(seconds))
    installed.say(other, "1", "somebody else's", at=ago(50))
    order(installed, "a", "submit", 90000, job=job.id, number=4)
    order(installed, "b", "stop", 200, job=job.id, number=4, owner="grace")
    order(installed, "c", "stop", 90, outcome="refused", reason="job 4 has ended", job=job.id)
    order(installed, "d", "pause", 80, owner="root")
    order(installed, "e", "release", 70, owner="grace")


def rows(tpuctl: Tpuctl, *words: str) -> list[tuple[str, str, str]]:
    """Return who did what to which job."""
    found = json.loads(tpuctl("history", *words, "--json").out)["history"]
    return [(deed["who"], deed["about"], deed["text"]) for deed in found]


RECENT = [
    ("tpuctl", "4", "x: preempted"),
    ("grace", "4", "stopped by grace"),
    ("tpuctl", "4", "attempt 0 writes no more"),
    ("ada", "4", "stop refused: job 4 has ended"),
    ("root", "-", "pause"),
]


def test_all_that_was_done_is_told_with_who_did_it(tpuctl: Tpuctl) -> None:
    """What others did elsewhere is not; an order and what tells of it are one line."""
    assert RECENT == rows(tpuctl, "--since", "1h")


def test_timelines_of_many_jobs_are_read_side_by_side(
    tpuctl: Tpuctl, installed: Installed, mocker: MockerFixture
) -> None:
    """Each is a query of its own: two hundred, one after the other, would be a long silence."""
    installed.put_job(make_job(6))
    both = Barrier(2, timeout=PATIENCE_S)
    read = SqliteStore.query

    def meet(store: SqliteStore, query: Query) -> list[Document]:
        if query.collection.endswith("/timeline"):
            both.wait()
        return read(store, query)

    mocker.patch.object(SqliteStore, "query", meet)

    assert RECENT == rows(tpuctl, "--since", "1h")


def test_the_first_look_goes_back_a_day(tpuctl: Tpuctl) -> None:
    """Nobody wants a year."""
    assert RECENT == rows(tpuctl)


def test_the_next_look_begins_where_the_last_one_ended(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Until something happens."""
    tpuctl("history")

    assert "nothing since " in tpuctl("history").out
    installed.say(make_job(4), "999999", "it is back", event="SliceClaimed")
    assert [("tpuctl", "4", "it is back")] == rows(tpuctl)


@pytest.mark.parametrize(
    "words", [["--since", "1h"], ["--job", "4"], ["--mine"]], ids=["since", "job", "mine"]
)
def test_other_looks_do_not_count(tpuctl: Tpuctl, words: list[str]) -> None:
    """They show a part, or what was seen before."""
    tpuctl("history", *words)

    assert RECENT == rows(tpuctl)


def test_one_job_is_told_from_its_beginning(tpuctl: Tpuctl) -> None:
    """And nothing else."""
    found = rows(tpuctl, "--job", "4")

    assert [("ada", "4", "job 4 digits by ada, on digits-s"), *RECENT[:3]] == found[:4]
    assert {"4"} == {about for _, about, _ in found}


def test_only_my_own_orders_are_told_when_i_want_so(tpuctl: Tpuctl) -> None:
    """Refused ones, too."""
    assert [RECENT[3]] == rows(tpuctl, "--mine")


def test_slices_of_mine_are_told(tpuctl: Tpuctl, installed: Installed) -> None:
    """What happens to them while no job is there."""
    tell(installed, "v2-1", 10, "SliceLost")

    assert ("tpuctl", "v2-1", "v2-1: SliceLost") == rows(tpuctl)[-1]


@pytest.mark.parametrize("kind", [Kind.NAMED, Kind.ADOPTED])
def test_slices_that_are_gone_are_told(tpuctl: Tpuctl, installed: Installed, kind: Kind) -> None:
    """Else nothing would say which one was given back."""
    order(installed, "f", "release", 9)
    tell(installed, "v2-1", 10, "SliceReleased", live=False, kind=kind)

    assert [*RECENT, ("ada", "v2-1", "slice rm: v2-1: SliceReleased")] == rows(tpuctl)


def test_slices_of_jobs_are_told_when_they_are_gone(tpuctl: Tpuctl, installed: Installed) -> None:
    """Those of others that have their names by now are not."""
    tell(installed, "digits-s", 10, "SliceReleased", live=False)

    assert [*RECENT, ("tpuctl", "digits-s", "digits-s: SliceReleased")] == rows(tpuctl)
    tell(installed, "digits-s", 10, "SliceReleased", live=False, uid="b2345678")
    assert RECENT == rows(tpuctl, "--since", "1h")


def test_slices_that_went_before_are_not_read(
    tpuctl: Tpuctl, installed: Installed, mocker: MockerFixture
) -> None:
    """Each would be a query, for ever."""
    tell(installed, "old", 10, "SliceReleased", live=False, kind=Kind.NAMED)
    tell(installed, "new", 10, "SliceLost")
    read = mocker.spy(SqliteStore, "query")

    tpuctl("history", "--since", "0")

    asked = [call.args[1].collection for call in read.call_args_list]
    assert ["slices/new/timeline"] == [each for each in asked if "slices/" in each]


def test_every_query_is_served_without_another_index(
    tpuctl: Tpuctl, installed: Installed, mocker: MockerFixture
) -> None:
    """By the database that large installations have."""
    tell(installed, "v2-1", 10, "SliceLost")
    read = mocker.spy(SqliteStore, "query")

    tpuctl("history")

    queries = [call.args[1] for call in read.call_args_list]
    assert len(queries) > 4
    for query in queries:
        query_pb(query)


def test_jobs_that_were_over_long_before_are_not_read(tpuctl: Tpuctl, installed: Installed) -> None:
    """But those that ended just now are."""
    installed.put_job(make_job(4, name="digits", stage=Stage.SUCCEEDED))

    assert RECENT == rows(tpuctl)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal(
    tpuctl: Tpuctl, installed: Installed, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """What happened goes on below."""
    monkeypatch.setenv("COLUMNS", str(columns))
    installed.say(make_job(4), "999998", "words and words " * 20)

    lines = tpuctl("history").out.splitlines()

    assert ["WHEN", "WHO", "JOB", "WHAT"] == lines[0].split()
    assert max(map(len, lines)) <= columns


def test_an_unknown_job_and_no_time_are_one_line(tpuctl: Tpuctl) -> None:
    """With what to do."""
    assert 3 == tpuctl("history", "--job", "99").code
    assert "--since: 'x' is neither" in tpuctl("history", "--since", "x").error


def test_moments_of_another_year_have_it(tpuctl: Tpuctl, installed: Installed) -> None:
    """Those of this one do not."""
    installed.say(make_job(4), "000001", "long ago", at=ago(800 * 86400))

    lines = tpuctl("history", "--job", "4").out.splitlines()

    assert f" {ago(800 * 86400).astimezone().year} " in lines[1]
    assert f" {ago(100).astimezone().year} " not in lines[-1]
    installed.put_job(make_job(6))
    nothing = tpuctl("history", "--job", "6", "--since", "2001-01-31").out
    assert nothing.startswith("nothing since 31 Jan 2001 00:00:00 (")
