"""Background processes: found by their note, told why they gave up, never left behind."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox import background
from sandbox.processes import start_time

SLEEP = "import time; print('up', flush=True); time.sleep(600)"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP


@dataclass(frozen=True)
class Info:
    """What a note tells."""

    pid: int
    started: str


def spawn(folder: Path, program: str) -> background.Launch:
    """Start a Python program."""
    return background.spawn([sys.executable, "-c", program], folder / "log")


def wait(launch: background.Launch, within_s: float = 20) -> bool:
    """Wait until it says that it is up."""
    return background.wait_until_up(launch, lambda: "up" in launch.log, within_s)


def info(launch: background.Launch) -> Info:
    """Return what its note would tell."""
    return Info(launch.process.pid, start_time(launch.process.pid) or "")


@pytest.mark.parametrize(
    "program, words",
    [
        pytest.param("raise SystemExit('error: no luck')", "could not start: no luck", id="reason"),
        pytest.param("", "could not start: it gave no reason", id="no reason"),
        pytest.param("{}['x']", "could not start: KeyError: 'x'", id="trace"),
    ],
)
def test_a_start_that_fails_says_why(tmp_path: Path, program: str, words: str) -> None:
    """By the last line that it wrote, not by one of an earlier process."""
    (tmp_path / "log").write_text("up\nan earlier one\n")

    with pytest.raises(background.NotStartedError) as caught:
        wait(spawn(tmp_path, program))

    assert words == str(caught.value)


def test_a_start_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """Nothing is left behind."""
    launch = spawn(tmp_path, "import time; time.sleep(600)")

    with pytest.raises(background.NotStartedError, match="was not up within 0 s"):
        wait(launch, within_s=0.1)

    assert launch.process.returncode is not None


def test_a_start_that_is_interrupted_is_ended(tmp_path: Path) -> None:
    """Ctrl-C while we wait."""
    launch = spawn(tmp_path, SLEEP)

    def interrupt() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        background.wait_until_up(launch, interrupt, 20)

    assert launch.process.returncode is not None


def test_a_process_is_found_while_it_lives(tmp_path: Path) -> None:
    """Its note outlives it, and tells of nobody then."""
    launch = spawn(tmp_path, SLEEP)
    assert wait(launch)
    note = tmp_path / "note"
    note.write_text(json.dumps({"pid": info(launch).pid, "started": info(launch).started}))

    alive = background.find(note, Info)
    background.stop(info(launch), 5)

    assert launch.process.pid == (alive.pid if alive else None)
    assert background.find(note, Info) is None
    assert alive == background.read(note, Info)


def test_a_process_that_hears_nothing_is_killed(tmp_path: Path) -> None:
    """After some patience."""
    launch = spawn(tmp_path, DEAF)
    assert wait(launch)

    background.stop(info(launch), 0.1)

    assert start_time(launch.process.pid) is None
    assert -9 == launch.process.returncode


def test_a_later_process_of_the_same_number_is_another_one(tmp_path: Path) -> None:
    """Numbers come again."""
    note = tmp_path / "note"
    note.write_text(json.dumps({"pid": os.getpid(), "started": "at another time"}))

    assert background.find(note, Info) is None
