"""`tpuctl logs`: whole lines of all hosts, and of all attempts that come."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from pytest_mock import MockerFixture, MockType

from cli.commands import logs
from shared.core.model import NO_ATTEMPT
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


@pytest.mark.usefixtures("blobs")
def test_nothing_written_yet_is_exit_3(tpuctl: Tpuctl, installed: Installed) -> None:
    """With what was asked for, where there is such an attempt and such a host."""
    installed.put_slice(make_slice(installed.put_job(make_job(4, attempt=1))))

    result = tpuctl("logs", "4", "--attempt", "1", "--host", "1")

    assert (3, "") == (result.code, result.out)
    assert "attempt 1 of job 4 has written nothing yet on host 1" == result.error
    assert "tpuctl show 4" == result.next_step


@pytest.mark.usefixtures("shipped", "blobs")
@pytest.mark.parametrize("more", [[], ["-f"]], ids=["once", "follow"])
@pytest.mark.parametrize(
    "words, error",
    [
        pytest.param(["--attempt", "2"], "job 4 has no attempt 2, only 0 to 1", id="attempt"),
        pytest.param(["--host", "2"], "job 4 has no host 2, only 0 to 1", id="host"),
    ],
)
def test_an_attempt_or_a_host_that_there_is_not_is_refused(
    tpuctl: Tpuctl, words: list[str], more: list[str], error: str
) -> None:
    """With those that there are: nobody shall wait for it."""
    result = tpuctl("logs", "4", *words, *more)

    assert (3, "", error) == (result.code, result.out, result.error)
    assert "tpuctl show 4" == result.next_step


@pytest.mark.usefixtures("blobs")
def test_before_its_first_attempt_a_job_has_only_that_to_come(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """It is no mistake to ask for it early."""
    installed.put_job(make_job(4, attempt=NO_ATTEMPT))

    assert "job 4 has no attempt 1, only 0" == tpuctl("logs", "4", "--attempt", "1").error
    assert "attempt 0 of job 4 has written nothing yet" == (
        tpuctl("logs", "4", "--attempt", "0").error
    )


@pytest.mark.usefixtures("blobs")
def test_where_nobody_knows_the_hosts_any_may_be_asked_for(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Another slice has taken the name of the job's."""
    installed.put_job(make_job(4))

    error = tpuctl("logs", "4", "--host", "7").error

    assert "attempt 0 of job 4 has written nothing yet on host 7" == error


def test_single_host_has_no_prefix(tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs) -> None:
    """Nothing would be told by it."""
    job = installed.put_job(make_job(4))
    installed.put_slice(make_slice(job, hosts=1))
    blobs.put(f"logs/{job.id}/0/0/000000.log", b"plain\n")

    assert "plain\n" == tpuctl("logs", "4").out


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


@pytest.mark.usefixtures("shipped")
def test_host_by_host_the_last_lines_are_those_of_each(tpuctl: Tpuctl) -> None:
    """Else of all together."""
    result = tpuctl("logs", "4", "--by-host", "-n", "2")

    assert "[h0] a2\n[h0] last without an end\n[h1] b1\n" == result.out
    assert "[h0] last without an end\n" == tpuctl("logs", "4", "-n", "1").out


def test_following_may_begin_with_the_last_lines(
    tpuctl: Tpuctl, shipped: FakeBlobs, installed: Installed, pause: MockType
) -> None:
    """All that comes is printed then, from where its first line begins."""
    job = installed.put_job(make_job(4, attempt=1))
    done = make_job(4, attempt=1, stage=Stage.SUCCEEDED)
    shipped.put(f"logs/{job.id}/1/0/000002.log", b"!\nw\nx")
    more: Iterator[Callable[[], object]] = iter(
        [
            lambda: shipped.put(f"logs/{job.id}/1/0/000003.log", b"2\ny\n"),
            lambda: installed.put_job(done),
        ]
    )

    def happen() -> None:
        next(more, int)()

    pause.side_effect = happen

    result = tpuctl("logs", "4", "--host", "0", "-f", "-n", "1")

    assert "w\nx2\ny\n" == result.out


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("words", [[], ["--by-host"], ["-f"]])
def test_no_line_is_printed_when_none_is_wanted(tpuctl: Tpuctl, words: list[str]) -> None:
    """That is no error where something was written."""
    result = tpuctl("logs", "4", "--attempt", "0", "-n", "0", *words)

    assert (0, "") == (result.code, result.out)


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


def test_log_objects_that_are_none_are_passed_over(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs
) -> None:
    """Anybody may put something into a bucket."""
    job = installed.put_job(make_job(4))
    blobs.put(f"logs/{job.id}/readme.txt", b"x")
    blobs.put(f"logs/{job.id}/0/zero/000000.log", b"x")

    assert 3 == tpuctl("logs", "4").code
