"""`tpuctl logs`: whole lines of all hosts, and of all attempts that come."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from pytest_mock import MockerFixture, MockType

from cli.commands import logs
from cli.log_reader import LogReader
from shared.core.stages import Stage
from tests.fakes import FakeBlobs, FakeClock
from tests.unit.cli.stage import Installed, Tpuctl, make_job, make_slice, now


@pytest.fixture(autouse=True)
def pause(installed: Installed, mocker: MockerFixture) -> MockType:
    """Have everything up, and look again at once."""
    installed.pretend_up()
    return mocker.patch.object(logs, "_pause")


@pytest.fixture
def shipped(installed: Installed, blobs: FakeBlobs) -> FakeBlobs:
    """Have a job on two hosts in its second attempt, and what it wrote."""
    job = installed.put_job(make_job(4, attempt=1, stage=Stage.SUCCEEDED))
    installed.put_slice(make_slice(job))
    for name, text in {
        "0/0/000000": "first\n",
        "1/0/000000": "a1\na",
        "1/1/000000": "b1\n",
        "1/0/000001": "2\nlast without an end",
    }.items():
        blobs.put(f"logs/{job.id}/{name}.log", text.encode())
    return blobs


@pytest.mark.usefixtures("shipped")
def test_newest_attempt_is_printed_with_the_hosts_in_front(tpuctl: Tpuctl) -> None:
    """A line that two chunks share is one line."""
    result = tpuctl("logs", "4")

    assert (0, "job 4, attempt 1:\n") == (result.code, result.err)
    assert {"[h0] a1", "[h0] a2", "[h1] b1", "[h0] last without an end"} == set(
        result.out.splitlines()
    )


@pytest.mark.usefixtures("shipped")
def test_one_host_or_one_attempt_can_be_chosen(tpuctl: Tpuctl) -> None:
    """One host needs no prefix."""
    assert "a1\na2\nlast without an end\n" == tpuctl("logs", "4", "--host", "0").out
    assert "[h0] first\n" == tpuctl("logs", "4", "--attempt", "0").out


@pytest.mark.usefixtures("shipped")
def test_nothing_written_is_exit_3(tpuctl: Tpuctl) -> None:
    """With what was asked for."""
    result = tpuctl("logs", "4", "--attempt", "7", "--host", "1")

    assert (3, "") == (result.code, result.out)
    assert "attempt 7 of job 4 has written nothing yet on host 1" == result.error
    assert "tpuctl show 4" == result.next_step


def test_single_host_has_no_prefix(tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs) -> None:
    """Nothing would be told by it."""
    job = installed.put_job(make_job(4))
    installed.put_slice(make_slice(job, hosts=1))
    blobs.put(f"logs/{job.id}/0/0/000000.log", b"plain\n")

    assert "plain\n" == tpuctl("logs", "4").out


def test_bytes_are_printed_as_they_were_written(installed: Installed, blobs: FakeBlobs) -> None:
    """A program may write anything."""
    job = installed.put_job(make_job(4))
    blobs.put(f"logs/{job.id}/0/0/000000.log", b"bytes \xff stay\nno end")
    reader = LogReader(blobs, job.id)

    assert [(0, b"bytes \xff stay")] == list(reader.lines(0))
    assert [] == list(reader.lines(0))
    assert [(0, b"no end")] == list(reader.rest())


def test_follow_goes_from_attempt_to_attempt_until_the_end(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs, pause: MockType
) -> None:
    """Everything is printed once."""
    job = installed.put_job(make_job(4, attempt=0))
    prefix = f"logs/{job.id}"
    blobs.put(f"{prefix}/0/0/000000.log", b"one\n")
    events: Iterator[Callable[[], object]] = iter(
        [
            lambda: blobs.put(f"{prefix}/0/0/000001.log", b"two\n"),
            lambda: installed.put_job(make_job(4, attempt=1)),
            lambda: blobs.put(f"{prefix}/1/0/000000.log", b"three\n"),
            lambda: installed.put_job(make_job(4, attempt=1, stage=Stage.SUCCEEDED)),
            lambda: blobs.put(f"{prefix}/1/0/000001.log", b"four\n"),
        ]
    )

    def happen() -> None:
        next(events, int)()

    pause.side_effect = happen

    result = tpuctl("logs", "4", "--follow")

    assert ["[h0] one", "[h0] two", "[h0] three", "[h0] four"] == result.out.splitlines()
    assert "job 4, attempt 0:\njob 4, attempt 1:\njob 4 succeeded; next: tpuctl show 4\n" == (
        result.err
    )


def test_follow_of_one_attempt_ends_with_it(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs
) -> None:
    """The job may go on."""
    job = installed.put_job(make_job(4, attempt=1))
    blobs.put(f"logs/{job.id}/0/0/000000.log", b"one\n")
    blobs.put(f"logs/{job.id}/1/0/000000.log", b"two\n")

    assert "[h0] one\n" == tpuctl("logs", "4", "-f", "--attempt", "0").out


@pytest.mark.usefixtures("shipped")
def test_all_attempts_are_printed_in_order(tpuctl: Tpuctl) -> None:
    """Each under its own heading."""
    result = tpuctl("logs", "4", "--attempt", "all")

    assert "job 4, attempt 0:\njob 4, attempt 1:\n" == result.err
    assert "[h0] first" == result.out.splitlines()[0]
    assert 5 == len(result.out.splitlines())


@pytest.mark.usefixtures("shipped")
def test_hosts_are_merged_unless_one_after_the_other_is_wanted(tpuctl: Tpuctl) -> None:
    """Then nothing of another host stands between two lines of one."""
    hosts = [line[:4] for line in tpuctl("logs", "4", "--by-host").out.splitlines()]

    assert ["[h0]", "[h0]", "[h0]", "[h1]"] == hosts


@pytest.mark.usefixtures("shipped")
def test_only_the_last_lines_are_printed_when_so_many_are_wanted(tpuctl: Tpuctl) -> None:
    """Of each attempt."""
    result = tpuctl("logs", "4", "--host", "0", "-n", "2", "--attempt", "all")

    assert "first\na2\nlast without an end\n" == result.out


def test_what_was_shipped_earlier_is_left_out(
    tpuctl: Tpuctl, installed: Installed, mocker: MockerFixture
) -> None:
    """Chunk by chunk; nothing at all is no error."""
    clock = FakeClock(now() - timedelta(hours=2))
    blobs = FakeBlobs(clock)
    mocker.patch("shared.wiring.open_blobs", return_value=blobs)
    job = installed.put_job(make_job(4))
    blobs.put(f"logs/{job.id}/0/0/000000.log", b"old\n")
    clock.advance(6600)
    blobs.put(f"logs/{job.id}/0/0/000001.log", b"new\n")

    assert "[h0] new\n" == tpuctl("logs", "4", "--since", "30m").out
    assert "[h0] old\n[h0] new\n" == tpuctl("logs", "4", "--since", "3h").out
    nothing = tpuctl("logs", "4", "--since", "1m")
    assert (0, "") == (nothing.code, nothing.out)
    assert "nothing has come since " in nothing.err


@pytest.mark.parametrize(
    "words, error",
    [
        pytest.param(["--attempt", "x"], "--attempt: 'x' is neither a number nor all", id="word"),
        pytest.param(["--attempt", "-1"], "--attempt: '-1' is neither", id="negative"),
        pytest.param(["--since", "noon"], "--since: 'noon' is neither so long ago", id="time"),
        pytest.param(["-f", "--by-host"], "--follow prints as it comes", id="both"),
    ],
)
def test_wrong_words_are_one_line(tpuctl: Tpuctl, words: list[str], error: str) -> None:
    """Exit 2."""
    result = tpuctl("logs", "4", *words)

    assert 2 == result.code
    assert error in result.error


def test_following_lists_only_what_comes_after_the_last_chunk(
    installed: Installed, blobs: FakeBlobs, mocker: MockerFixture
) -> None:
    """A run of weeks has a hundred thousand chunks, and whoever follows looks all the time."""
    job = installed.put_job(make_job(4))
    folder = f"logs/{job.id}/0"
    for number in range(20):
        blobs.put(f"{folder}/0/{number:06d}.log", b"x\n")
    reader = LogReader(blobs, job.id, hosts=2)
    assert 20 == len(list(reader.lines(0)))
    listed = mocker.spy(blobs, "list")
    blobs.put(f"{folder}/0/000020.log", b"y\n")
    blobs.put(f"{folder}/1/000000.log", b"z\n")

    assert [(0, b"y"), (1, b"z")] == list(reader.lines(0))
    assert [
        ((f"{folder}/0/",), {"after": f"{folder}/0/000019.log"}),
        ((f"{folder}/1/",), {"after": ""}),
    ] == [(call.args, call.kwargs) for call in listed.call_args_list]


@pytest.mark.parametrize("chunks, lists", [(1, 1), (9000, 9)], ids=["short", "long"])
def test_of_very_many_hosts_the_cheaper_list_is_read(
    installed: Installed, blobs: FakeBlobs, mocker: MockerFixture, chunks: int, lists: int
) -> None:
    """One request for a page, or one for each host."""
    job = installed.put_job(make_job(4))
    for number in range(chunks):
        blobs.put(f"logs/{job.id}/0/0/{number:06d}.log", b"")
    reader = LogReader(blobs, job.id, hosts=9)
    list(reader.lines(0))
    listed = mocker.spy(blobs, "list")
    blobs.put(f"logs/{job.id}/0/8/000000.log", b"new\n")

    assert [(8, b"new")] == list(reader.lines(0))
    assert lists == listed.call_count


def test_log_objects_that_are_none_are_passed_over(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs
) -> None:
    """Anybody may put something into a bucket."""
    job = installed.put_job(make_job(4))
    blobs.put(f"logs/{job.id}/readme.txt", b"x")
    blobs.put(f"logs/{job.id}/0/zero/000000.log", b"x")

    assert 3 == tpuctl("logs", "4").code
