"""The program as a user types it: real processes, a real runner, a simulated cloud."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes import eventually
from tests.terminals import Terminal, environment_in, local

PLACE = ("--type", "v4-16", "--zone", "us-central2-b")
COUNT = "for i in 1 2 3; do echo step $i/3 on host $TPUCTL_HOST; done"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """Bring everything up once for all tests here."""
    folder = tmp_path_factory.mktemp("cli")
    shell = Terminal(environment_in(folder))
    with local(folder, shell):
        yield shell


def run(terminal: Terminal, name: str, script: str, *flags: str) -> str:
    """Submit a job and return its number."""
    printed = terminal.type("run", "--name", name, *PLACE, *flags, "--", "bash", "-c", script)
    return printed.split()[1]


def test_job_runs_to_its_end_and_its_logs_are_whole(terminal: Terminal) -> None:
    """Followed from before the first line, and read once more afterwards."""
    number = run(terminal, "count", COUNT)

    followed = terminal.type("logs", "-f", number, "--host", "1").splitlines()
    terminal.type("wait", number, "--timeout", "50")
    lines = terminal.type("logs", number).splitlines()

    assert [f"step {i}/3 on host 1" for i in (1, 2, 3)] == followed
    assert {f"[h{host}] step {i}/3 on host {host}" for host in (0, 1) for i in (1, 2, 3)} == (
        set(lines)
    )
    assert "succeeded" in terminal.type("ps")
    assert "next: tpuctl logs" in terminal.type("show", "count")


def test_failed_job_shows_its_last_output_and_can_be_mended(terminal: Terminal) -> None:
    """With another environment, on the slice that was held for the fix."""
    script = 'echo "mood is $MOOD"; test "$MOOD" = good'
    number = run(terminal, "mood", script, "--env", "MOOD=bad", "--rule", "pass")
    terminal.type("wait", number, "--timeout", "50", exit_code=1)
    shown = terminal.type("show", number)

    terminal.type("resume", number, "--env", "MOOD=good")
    terminal.type("wait", number, "--timeout", "50")

    assert "mood is bad" in shown
    assert "error" in shown
    assert "[h0] mood is good" in terminal.type("logs", number).splitlines()


def test_job_is_stopped_and_run_again(terminal: Terminal) -> None:
    """Stop, resume what runs (refused), rerun."""
    number = run(terminal, "sleeper", "echo awake; exec sleep 600")
    eventually(lambda: terminal.job(number)["stage"] == "running")

    terminal.type("resume", number, exit_code=1)
    terminal.type("stop", number)
    terminal.type("wait", number, "--timeout", "50", exit_code=1)
    assert "cancelled" == terminal.job(number)["stage"]
    terminal.type("rerun", number)
    eventually(lambda: terminal.job(number)["attempt"] == 1)
    terminal.type("stop", number, "--kill")
    terminal.type("wait", number, "--timeout", "50", exit_code=1)


def test_name_of_a_slice_that_is_taken_is_refused(terminal: Terminal) -> None:
    """And the slice can be given back when nothing runs on it."""
    number = run(terminal, "first", "true", "--slice", "mine", "--hold-s", "600")
    terminal.type("run", "--name", "second", *PLACE, "--slice", "mine", "--", "true", exit_code=1)
    terminal.type("wait", number, "--timeout", "50")

    assert "mine" in terminal.type("slice", "ls")
    terminal.type("slice", "rm", "mine")


def test_text_is_never_code(terminal: Terminal, tmp_path: Path) -> None:
    """Not in arguments, not in the environment, however it looks; nothing is cut."""
    owned = tmp_path / "owned"
    nasty = f"$(touch {owned}) `touch {owned}` ; touch {owned} & \n \"'"
    big = "x" * 100_000
    words = [
        "run", "--name", "nasty", *PLACE, "--env", f"NASTY={nasty}", "--env", f"BIG={big}", "--",
        "bash", "-c", 'test "$1" = "$NASTY" && echo "${#BIG} ${#1}"', "x", nasty,
    ]  # fmt: skip

    terminal.type(*words)
    terminal.type("wait", "@last", "--timeout", "50")

    assert f"[h0] 100000 {len(nasty)}" in terminal.type("logs", "@last").splitlines()
    assert not owned.exists()


def test_second_local_up_is_no_second_runner(terminal: Terminal) -> None:
    """Status says the same process."""
    before = json.loads(terminal.type("local", "status", "--json"))

    terminal.type("local", "up")

    assert before == json.loads(terminal.type("local", "status", "--json"))
