"""The workload's output is a function of its arguments, and its lock sees a second attempt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.chaos import counting
from tests.chaos.crew import Task
from tests.installations import until

TASK = Task("count-00", "v4-8", 60)
PAUSE_S = 0.02


def start(folder: Path, attempt: int) -> subprocess.Popen[bytes]:
    """Start an attempt of the same job in the same folder."""
    folder.mkdir(exist_ok=True)
    places = {f"TPUCTL_{name}_DIR": str(folder / name) for name in ("CHECKPOINT", "OUTPUT")}
    environ = {**places, "TPUCTL_HOST": "0", "TPUCTL_ATTEMPT": str(attempt)}
    command = [sys.executable, *TASK.arguments(folder, PAUSE_S)]
    return subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)


def told(folder: Path, what: str) -> list[int]:
    """Return the steps at which the diary says something."""
    path = folder / counting.DIARY
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [entry["step"] for entry in map(json.loads, lines) if entry["what"] == what]


def test_a_count_that_was_killed_ends_as_an_undisturbed_one(tmp_path: Path) -> None:
    """It goes on from its newest checkpoint, once killed and once told to go."""
    folder = tmp_path / "work"
    for attempt, number in enumerate((signal.SIGKILL, signal.SIGTERM)):
        process = start(folder, attempt)
        until(lambda goal=attempt + 2: len(told(folder, "saved")) >= goal)  # type: ignore[misc]
        os.kill(process.pid, number)
        process.wait()

    assert 0 == start(folder, 2).wait()

    assert sorted(set(told(folder, "start"))) == told(folder, "start")
    assert 3 == len(told(folder, "start"))
    result = (folder / "OUTPUT" / "result-0.txt").read_bytes()
    assert TASK.undisturbed(tmp_path / "undisturbed") == result


def test_another_count_ends_differently(tmp_path: Path) -> None:
    """Else an output would prove nothing."""
    other = Task("count-00", "v4-8", 61)

    assert TASK.undisturbed(tmp_path / "one") != other.undisturbed(tmp_path / "other")


def test_a_second_attempt_beside_the_first_is_seen(tmp_path: Path) -> None:
    """It touches no checkpoint."""
    folder = tmp_path / "work"
    first = start(folder, 0)
    try:
        until(lambda: told(folder, "start"))

        assert counting.OVERLAPPED == start(folder, 1).wait()

        assert 1 == len(told(folder, "overlap"))
    finally:
        first.kill()
        first.wait()


def test_a_checkpoint_of_another_job_is_no_start(tmp_path: Path) -> None:
    """What was mixed up is not counted on."""
    path = tmp_path / "work" / "CHECKPOINT" / "5"
    path.mkdir(parents=True)
    (path / "state").write_text(json.dumps({"name": "other", "step": 5, "chain": "0"}))
    (path / counting.MARK).touch()

    assert counting.TORN == start(tmp_path / "work", 0).wait()
