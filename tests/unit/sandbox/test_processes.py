"""Finding processes and telling them apart."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import processes
from tests.sandboxes import eventually

# A child that makes a grandchild of its own, says so, and waits.
NEST = """
import subprocess, sys
subprocess.Popen(["sleep", "600"])
print("ready", flush=True)
sys.stdin.read()
"""


def test_start_time_tells_the_living_from_the_dead() -> None:
    """And a process from nobody."""
    with subprocess.Popen(["true"]) as process:
        process.wait()

    assert processes.start_time(os.getpid())
    assert processes.start_time(process.pid) is None


def test_descendants_are_ended_but_for_the_spared_and_the_root() -> None:
    """The root of the tree, this process, lives on."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-c", NEST]
    others = set(processes.descendants(os.getpid()))
    with (
        subprocess.Popen(command, **pipes) as doomed,  # type: ignore[call-overload]  # a table
        subprocess.Popen(command, **pipes) as spared,  # type: ignore[call-overload]  # a table
    ):
        for process in (doomed, spared):
            process.stdout.readline()
        spare = {*others, spared.pid}
        assert 2 == len(processes.descendants(os.getpid(), spare=spare))

        ended = processes.end_descendants(os.getpid(), spare=spare)

        assert doomed.pid == ended[0]
        assert [] == processes.descendants(doomed.pid)
        assert spared.poll() is None
        processes.end_descendants(os.getpid(), spare=others)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems hide it")
def test_strays_are_found_by_what_they_were_given(tmp_path: Path) -> None:
    """Whoever their parent is; others of a name that begins alike are left alone."""
    mark, other = f"PLACE={tmp_path}/a/", f"PLACE={tmp_path}/ab/"

    def run(place: str) -> subprocess.Popen[bytes]:
        name, _, value = f"{place}host".partition("=")
        return subprocess.Popen(["sleep", "600"], env={name: value})

    with run(mark) as stray, run(other) as neighbour:
        # Until exec, a child shows its parent's environment.
        eventually(lambda: processes._with_variable(mark) and processes._with_variable(other))

        found = processes.end_strays(mark)

        left = processes.start_time(neighbour.pid)
        neighbour.kill()
        assert [stray.pid] == found
        assert -9 == stray.wait()
        assert left
