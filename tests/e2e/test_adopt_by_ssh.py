"""A TPU that others made gets its agent by the command that `slice adopt` prints, as it stands."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import control
from tests import gclouds
from tests.gclouds import Gcloud
from tests.sandboxes import ZONE
from tests.terminals import Terminal, environment_in, local

pytestmark = pytest.mark.slow


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """Have a control plane up, and a cloud whose hosts let their user in."""
    gclouds.program()
    gclouds.require_sshd(tmp_path / "try")
    gclouds.make_key(tmp_path)
    terminal = Terminal({**environment_in(tmp_path), "HOME": str(tmp_path)})
    with local(tmp_path, terminal, has_ssh=True):
        yield terminal


def test_the_printed_command_brings_the_agent_to_every_host(
    terminal: Terminal, tmp_path: Path
) -> None:
    """Through the real gcloud and sshd; then a job runs there, and the TPU outlives its slice."""
    info = control.require(tmp_path / "home" / "sandbox")
    gcloud = gclouds.pointed_at(tmp_path / "home", info.url)
    shape = ("--accelerator-type=v4-16", "--version=tpu-ubuntu2204-base")
    made = gcloud.run("compute", "tpus", "tpu-vm", "create", "theirs", f"--zone={ZONE}", *shape)
    assert 0 == made.code, made.err

    said = terminal.type("slice", "adopt", "theirs", "--zone", ZONE).splitlines()
    (line,) = [each.strip() for each in said if each.strip().startswith("gcloud ")]
    installed = type_line(terminal, gcloud, line, info.ssh_port)
    terminal.type("run", "--on", "theirs", "--name", "guest", "--", "echo", "here, too")
    terminal.type("wait", "@last", "--timeout", "50")
    logs = terminal.type("logs", "@last").splitlines()
    terminal.type("slice", "rm", "theirs")

    assert 2 == installed.count("tpuctl: the agent runs on")
    assert {"[h0] here, too", "[h1] here, too"} <= set(logs)
    listed = gcloud.run("compute", "tpus", "tpu-vm", "list", f"--zone={ZONE}")
    assert "theirs" in listed.out


def type_line(terminal: Terminal, gcloud: Gcloud, line: str, port: int) -> str:
    """Type a line of gcloud's in a shell; ssh is told of a port that is not its own."""
    line = line.replace("--worker=all", f"--worker=all --ssh-flag='-p {port}'")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = Gcloud("bash", {**gcloud.environment, **terminal.environment, "PATH": path})
    said = shell.run("-c", line)
    assert 0 == said.code, said.err
    return said.out
