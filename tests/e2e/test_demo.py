"""The demo, as a user types it: real training, real preemptions, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.demo.story import NOTICE_S
from sandbox import processes

TPUCTL = [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())"]
ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 300

pytestmark = pytest.mark.slow


@pytest.fixture(name="told", scope="module", params=["embedded", "google"])
def _told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Run the demo once in each wiring and return its JSON."""
    home = tmp_path_factory.mktemp("demo") / "home"
    wiring = ["--emulators"] if request.param == "google" else []
    done = subprocess.run(
        [*TPUCTL, "demo", "--json", "--home", str(home), *wiring],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    assert [] == processes_of(home)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_demo_ends_with_bitwise_the_same_parameters(told: dict[str, Any]) -> None:
    """Although one job was preempted twice, and has one attempt and one generation for each."""
    assert told["ok"]
    assert told["parameters_equal"]
    assert 2 == told["preemptions"]
    undisturbed, preempted = told["jobs"]
    assert [1] == [attempt["generation"] for attempt in undisturbed["attempts"]]
    assert [1, 2, 3] == [attempt["generation"] for attempt in preempted["attempts"]]
    causes = [attempt["cause"] for attempt in preempted["attempts"]]
    assert ["preempted", "preempted", "succeeded"] == causes


def test_every_restart_goes_on_from_a_checkpoint(told: dict[str, Any]) -> None:
    """With a notice nothing is done twice."""
    _, second, third = told["jobs"][1]["attempts"]
    assert second["start_step"] >= told["jobs"][1]["attempts"][0]["last_step"]
    assert third["start_step"] > second["start_step"]
    assert 0 == told["recoveries"][0]["steps_redone"]


def test_a_notice_is_answered_while_it_still_runs(told: dict[str, Any]) -> None:
    """The replacement is asked for before the old slice is gone, not when somebody looks."""
    assert 0 < told["notice_to_request_s"] < NOTICE_S


def test_the_control_plane_takes_less_than_the_program(told: dict[str, Any]) -> None:
    """In one run on one machine: less than the imports and the first step after them."""
    assert 2 == len(told["recoveries"])
    for each in told["recoveries"]:
        assert 0 < each["control_plane_s"] < each["program_s"]


@pytest.fixture(name="hears_ctrl_c")
def _hears_ctrl_c() -> Iterator[None]:
    """Whoever runs the tests in the background ignores Ctrl-C, and children inherit that."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_leaves_no_process_behind(tmp_path: Path) -> None:
    """At the moment at which the jobs have just been submitted."""
    home = tmp_path / "home"
    demo = subprocess.Popen(
        [*TPUCTL, "demo", "--home", str(home)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with demo:
        try:
            seen = next(line for line in _lines(demo) if "waiting for" in line)
            os.killpg(demo.pid, signal.SIGINT)
            rest, _ = demo.communicate(timeout=30)
        finally:
            demo.kill()

    assert "waiting for" in seen
    assert "interrupted" == rest.splitlines()[-1]
    assert 130 == demo.returncode
    assert [] == processes_of(home)


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    while line := process.stdout.readline():
        yield line


def processes_of(home: Path) -> list[int]:
    """Find the processes that name this home in their command line or environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if str(home).encode() in text and processes.start_time(int(entry.name)) is not None:
            found.append(int(entry.name))
    return found
