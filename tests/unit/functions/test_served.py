"""The stand-in for the platform leaves no function behind, however it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import background, processes
from tests.installations import alive, until

ROOT = Path(__file__).parents[3]
# Starts one function, says which process it is, and waits.
STAND_IN = """
import os, signal, sys
from functions.served import Served
served = Served("park", int(sys.argv[1]), os.environ)
served.ensure()
print(served.process.pid, flush=True)
signal.pause()
"""


@pytest.mark.slow
def test_a_function_ends_with_the_process_that_started_it() -> None:
    """Even when that one is killed, and with the function its workers."""
    (port,) = background.free_ports()
    stand_in = subprocess.Popen(
        [sys.executable, "-c", STAND_IN, str(port)], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert stand_in.stdout is not None, "it says what it started"
    with stand_in, stand_in.stdout as said:
        function = int(said.readline())
        below = until(lambda: processes.descendants(function), lambda: "it has no worker")
        stand_in.kill()

    until(lambda: not alive([function, *below]), lambda: "it lives on")
