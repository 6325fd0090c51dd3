"""The reading side of a normal day, typed: one control plane, a simulated cloud, real terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fcntl import ioctl
from functools import cached_property
from struct import pack
from termios import TIOCSWINSZ

import pytest

from cli.installation import Installation
from cli.job_view import JobView, read_view
from cli.jobs import find_job
from shared import settings as home_settings
from shared.core.model import Job
from shared.core.slices import Slice
from tests.installations import PATIENCE_S, TPUCTL, until
from tests.terminals import Shell, environment_in, local

TOML = """\
[run]
command = ["python", "-u", "train.py", "--lr=0.1"]
type = "v4-16"
zones = ["us-central2-b"]

[alias]
lr = "lr"
"""
TRAIN = """\
import os, sys, time
print(sys.argv[1], flush=True)
for step in range(1, int(os.environ.get("STEPS", "20000")) + 1):
    print(f"step {step}/20000 on host {os.environ['TPUCTL_HOST']}", flush=True)
    time.sleep(0.05)
"""

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Desk(Shell):
    """A shell in a project's folder, with the documents at hand."""

    @cached_property
    def opened(self) -> Installation:
        """The documents: to wait by typing would cost more than what is waited for."""
        return Installation(home_settings.load(self.environment))

    def run(self, *words: str) -> str:
        """Submit a job and return its number."""
        return self.type("run", *words).split()[1]

    def job(self, number: str) -> Job:
        """Read a job's document."""
        return self.view(number).job

    def view(self, number: str) -> JobView:
        """Read all documents of a job."""
        return read_view(self.opened.store, find_job(self.opened, number))

    def until(self, number: str, stage: str) -> None:
        """Wait until a job stands at a stage."""
        until(
            lambda: self.job(number).stage == stage,
            lambda: f"job {number} is {self.job(number).stage}",
        )


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """Bring everything up once for all tests here."""
    folder = tmp_path_factory.mktemp("everyday")
    project = folder / "digits" / "src"
    project.mkdir(parents=True)
    (project.parent / "tpuctl.toml").write_text(TOML)
    (project.parent / "train.py").write_text(TRAIN)
    found = Desk(environment_in(folder), project)
    with local(folder, found):
        yield found


@pytest.fixture(scope="module")
def running(desk: Desk) -> str:
    """Have a job that runs for as long as the tests do."""
    number = desk.run("--name", "long", "lr=0.2")
    desk.until(number, "running")
    return number


@pytest.fixture(scope="module")
def finished(desk: Desk) -> str:
    """Have a job that is over, and its slice gone."""
    number = desk.run("--name", "short", "--env", "STEPS=3", "--hold", "0", "lr=0.2")
    desk.until(number, "succeeded")
    until(lambda: not _slice(desk, number).live)
    return number


def test_a_folder_s_file_and_one_value_are_enough(desk: Desk, finished: str) -> None:
    """From a folder below it; the code is the folder's."""
    words = ["python", "-u", "train.py", "--lr=0.2"]

    assert words == desk.job(finished).spec["command"]
    assert "[h0] --lr=0.2" in desk.type("logs", finished).splitlines()


def test_logs_are_read_by_time_by_host_and_after_the_slice_is_gone(
    desk: Desk, finished: str
) -> None:
    """Of every attempt."""
    everything = desk.type("logs", finished, "--attempt", "all", "--by-host").splitlines()
    last = desk.type("logs", finished, "-n", "1", "--host", "1")

    assert 8 == len(everything)
    assert sorted(everything, key=lambda line: line[:4]) == everything
    assert "step 3/20000 on host 1\n" == last
    assert "step 3" in desk.type("logs", finished, "--since", "10m")
    assert "" == desk.type("logs", finished, "--since", "0s")


def test_a_pipe_is_told_what_changes_and_a_named_job_ends_it(desk: Desk) -> None:
    """Plain lines."""
    number = desk.run("--name", "seen", "--env", "STEPS=20")

    lines = desk.type("watch", number).splitlines()

    assert all(re.match(r"\d\d:\d\d:\d\d  job \d+ ", line) for line in lines)
    assert any("succeeded" in line for line in lines)
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("cells", [60, 200])
def test_the_screen_fits_the_terminal_and_leaving_it_stops_nothing(
    desk: Desk, running: str, cells: int
) -> None:
    """In a real terminal, without colour; Ctrl-C is all there is to it."""
    shown, code = screen(desk, cells, "step ")

    assert 0 == code
    # Where the cursor is sent to the beginning, another line begins.
    plain = re.sub(r"\x1b\[[0-9;?]*m", "", shown)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", plain)
    assert max(len(line.rstrip()) for line in re.split(r"[\r\n]+", plain)) <= cells
    assert "\x1b[3" not in shown  # no colour
    assert "everything goes on; next: tpuctl watch, tpuctl ps" in plain
    assert "running" == desk.job(running).stage


def _slice(desk: Desk, number: str) -> Slice:
    found = desk.view(number).slice
    assert found is not None, "a job has a slice"
    return found


def screen(desk: Desk, cells: int, text: str) -> tuple[str, int]:
    """Watch in a terminal of so many columns until a text is there; then leave with Ctrl-C."""
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 20, cells, 0, 0))
    environment = {**desk.environment, "NO_COLOR": "1", "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    watching = subprocess.Popen(
        [TPUCTL, "watch"], env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown, has_left, deadline = b"", False, time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 0.1)[0]:
            continue
        try:
            shown += os.read(ours, 65536)
        except OSError:
            break  # the other end is closed
        if not has_left and text.encode() in shown:
            watching.send_signal(signal.SIGINT)
            has_left = True
    os.close(ours)
    return shown.decode(), watching.wait(PATIENCE_S)


def test_why_says_what_it_waits_for_and_what_it_was_that_failed(desk: Desk, running: str) -> None:
    """At every stage there is a sentence, and a command to type."""
    failed = desk.run("--name", "bad", "--rule", "pass", "--", "bash", "-c", "echo oh; exit 7")
    desk.until(failed, "failed")

    of_failed = json.loads(desk.type("why", failed, "--json"))

    assert "attempt 0 runs in us-central2-b" in desk.type("why", running)
    assert "error, host" in of_failed["because"][0]
    assert "exit code 7" in of_failed["because"][0]
    assert ["oh"] == of_failed["evidence"]
    assert f"tpuctl resume {failed} --code ." in of_failed["type"]
    assert "is held for the fix" in of_failed["next"]


def test_a_preemption_stands_in_the_history_with_the_orders_of_people(desk: Desk) -> None:
    """And the next look begins behind it."""
    number = desk.run("--name", "gone")
    desk.until(number, "running")
    desk.type("history")
    desk.type("sandbox", "preempt", _slice(desk, number).generations[-1].bids[-1].name)
    until(lambda: desk.job(number).attempt == 1)
    desk.type("stop", number, "--kill")
    desk.until(number, "cancelled")

    found = json.loads(desk.type("history", "--json"))["history"]
    told = [(deed["who"], deed["text"]) for deed in found if deed["about"] == number]

    assert ("ada", "killed by its owner") in told
    assert any(who == "tpuctl" and "preempted" in text for who, text in told)
    assert "killed by its owner" in desk.type("why", number)


def test_finished_jobs_are_put_away_until_they_are_news(desk: Desk, finished: str) -> None:
    """Their documents and logs stay."""
    desk.type("clean", finished)

    assert "short" not in desk.type("ps")
    assert "short" in desk.type("ps", "--all")
    assert "step 1" in desk.type("logs", finished)
    desk.type("rerun", finished)
    assert "short" in desk.type("ps")
