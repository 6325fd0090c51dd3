"""`tpuctl wait`: its exit code is the answer."""

import threading

import pytest
from pytest_mock import MockerFixture

from cli.commands import wait as waiting
from shared.core.hosts import Progress
from shared.core.stages import Stage
from tests.unit.cli.stage import Installed, Tpuctl, ago, make_job


def test_jobs_that_succeeded_are_exit_0(tpuctl: Tpuctl, installed: Installed) -> None:
    """One line each."""
    times = {"created_at": ago(200), "ended_at": ago(10)}
    installed.put_job(make_job(1, stage=Stage.SUCCEEDED, **times))
    installed.put_job(make_job(2, stage=Stage.SUCCEEDED))

    result = tpuctl("wait", "1", "2", "digits-1")

    assert (0, "") == (result.code, result.err)
    assert "job 1 digits-1 succeeded after 3m10s\njob 2 digits-2 succeeded\n" == result.out


@pytest.mark.parametrize("stage", [Stage.FAILED, Stage.CANCELLED])
def test_job_that_did_not_succeed_is_exit_1(
    tpuctl: Tpuctl, installed: Installed, stage: Stage
) -> None:
    """With the reason and where to look."""
    installed.put_job(make_job(1, stage=Stage.SUCCEEDED))
    installed.put_job(make_job(2, stage=stage, reason="out of memory"))

    result = tpuctl("wait", "1", "2")

    assert 1 == result.code
    assert f"job 2 digits-2 {stage}: out of memory\nnext: tpuctl why 2\n" in result.out


def test_time_that_is_up_is_exit_4(tpuctl: Tpuctl, installed: Installed) -> None:
    """The job goes on."""
    installed.pretend_up()
    installed.put_job(make_job(1))

    result = tpuctl("wait", "1", "--timeout", "0")

    assert (4, "") == (result.code, result.out)
    assert "not over after 0 s: job 1 is running" == result.error


def test_wait_ends_when_the_job_does(tpuctl: Tpuctl, installed: Installed) -> None:
    """However it is changed meanwhile."""
    installed.pretend_up()
    installed.put_job(make_job(1))
    ending = threading.Thread(target=installed.put_job, args=(make_job(1, stage=Stage.SUCCEEDED),))

    ending.start()
    result = tpuctl("wait", "1")
    ending.join()

    assert 0 == result.code


def test_nobody_to_end_the_job_is_said(tpuctl: Tpuctl, installed: Installed) -> None:
    """The runner may come back: the wait goes on."""
    installed.put_job(make_job(1))

    result = tpuctl("wait", "1", "--timeout", "0s")

    assert "the local runner is not up, so nothing will happen" in result.err


@pytest.mark.parametrize(
    "written, timeout_s",
    [("90", 90), ("90s", 90), ("5m", 300), ("2h30m", 9000), ("1h1m1s", 3661)],
)
def test_timeout_is_written_as_people_say_it(
    tpuctl: Tpuctl, installed: Installed, mocker: MockerFixture, written: str, timeout_s: int
) -> None:
    """Seconds where nothing is said."""
    installed.put_job(make_job(1))
    wait_for = mocker.patch.object(waiting, "wait_for")

    tpuctl("wait", "1", "--timeout", written)

    assert timeout_s == wait_for.call_args.args[2]


@pytest.mark.parametrize("written", ["", "soon", "-1", "5m2", "m"])
def test_timeout_that_is_none_is_refused(
    tpuctl: Tpuctl, installed: Installed, written: str
) -> None:
    """Exit 2."""
    installed.put_job(make_job(1, stage=Stage.SUCCEEDED))

    result = tpuctl("wait", "1", f"--timeout={written}")

    if written != "5m2":
        assert 2 == result.code
        assert "is no time such as 90, 5m or 2h30m" in result.error


def test_watched_terminal_sees_one_line_that_changes(
    tpuctl: Tpuctl, installed: Installed, mocker: MockerFixture
) -> None:
    """It is taken away before anything else is printed, also on an interrupt."""
    installed.pretend_up()
    installed.put_job(make_job(1, progress=Progress(3, 9), summary="on its slice"))
    mocker.patch.object(waiting._StatusLine, "is_watched", return_value=True)
    mocker.patch.object(waiting.time, "sleep", side_effect=KeyboardInterrupt)  # type: ignore[attr-defined]

    result = tpuctl("wait", "1")

    assert 130 == result.code
    assert (
        "\r\x1b[Kjob 1 running, step 3/9, on its slice\r\x1b[K"
        "error: interrupted: job 1 goes on\nnext: tpuctl wait 1, or tpuctl stop 1\n" == result.err
    )
