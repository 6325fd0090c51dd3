"""`tpuctl logs`: whole lines of all hosts, and of all attempts that come."""

from collections.abc import Callable, Iterator

import pytest
from pytest_mock import MockerFixture, MockType

from cli.commands import logs
from cli.log_reader import LogReader
from shared.core.stages import Stage
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import Installed, Tpuctl, make_job, make_slice


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


def test_log_objects_that_are_none_are_passed_over(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs
) -> None:
    """Anybody may put something into a bucket."""
    job = installed.put_job(make_job(4))
    blobs.put(f"logs/{job.id}/readme.txt", b"x")
    blobs.put(f"logs/{job.id}/0/zero/000000.log", b"x")

    assert 3 == tpuctl("logs", "4").code
