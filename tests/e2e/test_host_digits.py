"""The example keeps its promise: killed or warned, it ends with bitwise the same parameters."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.host_cloud import eventually

TRAIN = Path(__file__).parents[2] / "examples" / "digits_jax" / "train.py"
HOSTS = 2

pytestmark = [pytest.mark.slow]
pytest.importorskip("orbax.checkpoint", reason="the example's libraries are not installed")


@contextmanager
def _gang(home: Path, *options: str, **env: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run the example on two hosts that are processes."""
    home.mkdir(exist_ok=True)
    common = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "JAX_PLATFORMS": "cpu",
        "TPUCTL_HOSTS": str(HOSTS),
        "TPUCTL_COORDINATOR": f"127.0.0.1:{_free_port()}",
        "TPUCTL_CHECKPOINT_DIR": str(home / "checkpoints"),
        "TPUCTL_OUTPUT_DIR": str(home / "output"),
        **env,
    }
    with (home / "log").open("wb") as log:
        processes = [
            subprocess.Popen(
                [sys.executable, str(TRAIN), "--steps", "60", *options],
                env={**common, "TPUCTL_HOST": str(host)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            for host in range(HOSTS)
        ]
        try:
            yield processes
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _finish(home: Path, **env: str) -> object:
    """Let the gang run to its end and return its result."""
    with _gang(home, **env) as processes:
        assert [0, 0] == [process.wait(60) for process in processes], (home / "log").read_text()
    return json.loads((home / "output" / "result.json").read_text())


def _wait_for_step(home: Path, wanted: int) -> None:
    def is_there() -> bool:
        steps = re.findall(r"step (\d+)/", (home / "log").read_text())
        return bool(steps) and int(steps[-1]) >= wanted

    eventually(is_there, timeout_s=60)


def test_a_run_that_is_killed_and_warned_ends_as_if_nothing_had_been(tmp_path: Path) -> None:
    """SIGKILL between two checkpoints, then SIGTERM to one host, then a chosen earlier step."""
    undisturbed = _finish(tmp_path / "undisturbed")

    home = tmp_path / "disturbed"
    with _gang(home, "--step-delay-ms", "40") as processes:
        _wait_for_step(home, 25)
        for process in processes:
            process.kill()
    with _gang(home, "--step-delay-ms", "40") as processes:
        _wait_for_step(home, 35)
        processes[1].send_signal(signal.SIGTERM)
        assert [0, 0] == [process.wait(30) for process in processes]
    saved = re.search(r"told to go: saved step (\d+)", (home / "log").read_text())

    assert saved is not None
    assert undisturbed == _finish(home)
    assert undisturbed == _finish(home, TPUCTL_FROM_STEP=saved[1])
