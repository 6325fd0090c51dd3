"""Finding processes and telling them apart."""

import os
import subprocess
import sys

from sandbox import processes

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
