"""The startup script, run by bash as a VM would run it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shared.host import agent
from tests.e2e.host_cloud import Cloud, children, eventually, running_cloud

SCRIPT = Path(agent.__file__).with_name("startup.sh")


@contextmanager
def _booting(cloud: Cloud, root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run the script on a host."""
    process = subprocess.Popen(
        ["bash", str(SCRIPT)],
        env={
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TPUCTL_ROOT": str(root),
            "TPUCTL_BOOT_ID": "boot-1",
            "GCE_METADATA_HOST": cloud.address,
            "STORAGE_EMULATOR_HOST": f"http://{cloud.address}",
            "PUBSUB_EMULATOR_HOST": cloud.address,
        },
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def test_the_startup_script_brings_the_agent_up(tmp_path: Path) -> None:
    """From nothing but the node's metadata; also when that is late."""
    root = tmp_path / "not" / "there yet"
    with running_cloud() as cloud:
        cloud.order("idle")
        source = cloud.attributes.pop("tpuctl-agent")
        with _booting(cloud, root) as process:
            assert process.stderr is not None
            assert b"no agent in the metadata yet" in process.stderr.readline()
            cloud.attributes["tpuctl-agent"] = source

            assert "idle" == eventually(lambda: cloud.newest)["phase"]
            assert Path(agent.__file__).read_text() == (root / "agent.py").read_text()
            assert 1 == len(children(process.pid))


def test_the_startup_script_is_constant() -> None:
    """Nothing is ever put into it, and all data comes from the metadata server."""
    script = SCRIPT.read_text()

    assert script.startswith("#!/usr/bin/env bash\n")
    assert "set -Eeuo pipefail" in script
    assert "eval" not in script
