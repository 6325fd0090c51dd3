"""`tpuctl watch`: a screen on a terminal, lines elsewhere, and nothing is stopped by leaving it."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from pytest_mock import MockerFixture, MockType
from rich.console import Console

from cli import watch_screen, watching
from cli.commands import watch
from cli.installation import Installation
from cli.job_table import USUAL
from cli.seen import read_seen
from cli.watching import Look, Watcher
from shared.core.hosts import Progress
from shared.core.stages import Stage
from shared.errors import Unavailable
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import OWNER, Installed, Tpuctl, make_job, now


@pytest.fixture
def pause(installed: Installed, mocker: MockerFixture) -> MockType:
    """Have everything up, and look again at once."""
    installed.pretend_up()
    return mocker.patch.object(watch, "_pause")


def play(pause: MockType, *events: Callable[[], object]) -> None:
    """Let one thing happen between two looks, and at the end Ctrl-C."""
    left: Iterator[Callable[[], object]] = iter(events)

    def happen(_: float) -> None:
        event = next(left, None)
        if event is None:
            raise KeyboardInterrupt
        event()

    pause.side_effect = happen


def told(out: str) -> list[str]:
    """Leave the times out."""
    return [line.split("  ", 1)[1] for line in out.splitlines() if line[2:3] == ":"]


def test_a_pipe_gets_a_line_for_each_change(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs, pause: MockType
) -> None:
    """What is as it was is not said again; no escape codes."""
    job = make_job(4, name="digits")
    installed.put_job(job)
    play(
        pause,
        lambda: None,
        lambda: blobs.put(f"logs/{job.id}/0/0/000000.log", b"one\ntwo\n"),
        lambda: installed.put_job(replace(job, progress=Progress(1, 9), summary="step 1/9")),
        lambda: installed.put_job(replace(job, stage=Stage.SUCCEEDED, summary="finished")),
    )

    result = tpuctl("watch")

    assert [
        "job 4 digits  running",
        "job 4  | two",
        "job 4 digits  running  step 1/9",
        "job 4 digits  succeeded  finished",
    ] == told(result.out)
    assert (0, "") == (result.code, result.err)
    assert "\x1b" not in result.out


@pytest.mark.usefixtures("blobs")
def test_leaving_stops_nothing_and_says_so(
    tpuctl: Tpuctl, installed: Installed, pause: MockType
) -> None:
    """Exit 0."""
    installed.put_job(make_job(4))
    play(pause)

    result = tpuctl("watch")

    assert (0, "everything goes on; next: tpuctl watch, tpuctl ps") == (
        result.code,
        result.out.splitlines()[-1],
    )


@pytest.mark.usefixtures("blobs")
def test_named_jobs_are_watched_until_they_are_over(
    tpuctl: Tpuctl, installed: Installed, pause: MockType
) -> None:
    """The others are left out."""
    installed.put_job(make_job(4))
    installed.put_job(make_job(5))
    play(pause, lambda: installed.put_job(make_job(4, stage=Stage.FAILED, reason="oom")))

    result = tpuctl("watch", "4")

    assert ["job 4 digits-4  running", "job 4 digits-4  failed  oom"] == told(result.out)
    assert 1 == pause.call_count


@pytest.mark.usefixtures("pause")
def test_an_unknown_job_or_column_is_one_line(tpuctl: Tpuctl) -> None:
    """Before anything is watched."""
    assert 3 == tpuctl("watch", "9").code
    assert 2 == tpuctl("watch", "-c", "nmae").code


@pytest.mark.usefixtures("blobs", "pause")
def test_a_store_that_does_not_answer_is_told_and_the_last_look_kept(
    installed: Installed, mocker: MockerFixture
) -> None:
    """A live screen does not end with a traceback."""
    installed.put_job(make_job(4))
    here = Installation(installed.settings)
    watcher = Watcher(here, read_seen(here.settings, OWNER), [], 1)
    before = watcher.look(now())
    mocker.patch.object(watching, "list_jobs", side_effect=Unavailable("no answer"))

    after = watcher.look(now())

    assert [4] == [job.number for job in before.jobs] == [job.number for job in after.jobs]
    assert ("not up to date: no answer; looking again",) == after.remarks


@pytest.mark.usefixtures("blobs")
def test_what_keeps_everything_from_going_on_is_said(installed: Installed) -> None:
    """Nobody carries orders out, or all is paused."""
    installed.put_job(make_job(4))
    installed.put("control/pause", {"summary": "paused by ada"})
    here = Installation(installed.settings)

    look = Watcher(here, read_seen(here.settings, OWNER), [], 0).look(now())

    assert "paused by ada" == look.remarks[0]
    assert "next: tpuctl local up" in look.remarks[1]


# --- The screen ---------------------------------------------------------------------------------


@pytest.fixture
def look(installed: Installed) -> Look:
    """Have a look at jobs in several stages."""
    for number in range(1, 31):
        installed.put_job(make_job(number, stage=Stage.SUCCEEDED))
    installed.put_job(make_job(31, stage=Stage.RECOVERING, summary="preempted; asks for v4-16"))
    running = installed.put_job(make_job(32, progress=Progress(7, 9), summary="step 7/9"))
    here = Installation(installed.settings)
    found = Watcher(here, read_seen(here.settings, OWNER), [], 0).look(now())
    return replace(found, outputs={running.id: ["loss 0.1 " * 30]}, remarks=())


def drawn(look: Look, cells: int, height: int, *, color: bool = False) -> list[str]:
    """Draw a screen as a terminal of this size would show it."""
    console = Console(
        width=cells, height=height, force_terminal=True, no_color=not color, highlight=False
    )
    with console.capture() as capture:
        console.print(watch_screen._fitting(look, USUAL, cells, height))
    return capture.get().splitlines()


@pytest.mark.parametrize("cells", [60, 80, 200])
@pytest.mark.parametrize("height", [6, 16, 50])
def test_the_screen_fits_every_terminal(look: Look, cells: int, height: int) -> None:
    """What does not fit is counted; nothing is wrapped."""
    lines = drawn(look, cells, height)
    plain = [line.replace("\x1b[1m", "").replace("\x1b[2m", "") for line in lines]

    assert len(lines) <= height
    assert max(len(line.replace("\x1b[0m", "")) for line in plain) <= cells
    assert "1 running, 1 on the way" in lines[0]


def test_jobs_at_work_come_first_with_what_they_wrote(look: Look) -> None:
    """And with what is the matter, where the row has no room for it."""
    screen = "\n".join(drawn(look, 60, 10))

    assert screen.index("running") < screen.index("loss 0.1") < screen.index("preempted; asks")
    assert "… and " in screen


def test_without_colour_there_is_none(look: Look) -> None:
    """Stages are words, so nothing is lost."""
    assert "\x1b[32m" in "".join(drawn(look, 80, 20, color=True))
    assert "\x1b[3" not in "".join(drawn(look, 80, 20))


def test_no_jobs_are_a_screen_too(look: Look) -> None:
    """With the step that makes one."""
    assert "no jobs" in "\n".join(drawn(replace(look, jobs=()), 60, 10))
