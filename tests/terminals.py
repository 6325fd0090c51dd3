"""The program as a user types it, and the control plane on this machine that it speaks to."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.installations import PATIENCE_S, TPUCTL
from tests.sandboxes import QUICK


@dataclass(frozen=True)
class Shell:
    """A shell in which TPUCTL_HOME is set, in a folder of its own if it is given one."""

    environment: dict[str, str]
    folder: Path | None = None

    def type(self, *words: str, exit_code: int = 0) -> str:
        """Run a command and return what it printed; it must exit as expected."""
        done = subprocess.run(
            [TPUCTL, *words],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert exit_code == done.returncode, f"{words}: {done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout


@dataclass(frozen=True)
class Terminal(Shell):
    """A shell that reads documents by typing."""

    def job(self, name: str) -> dict[str, Any]:
        """Read a job's document."""
        found: dict[str, Any] = json.loads(self.type("show", name, "--json"))["job"]
        return found


def environment_in(folder: Path) -> dict[str, str]:
    """Make what a shell is told whose home lies in a folder."""
    return {**os.environ, "TPUCTL_HOME": str(folder / "home"), "TPUCTL_OWNER": "ada"}


@contextmanager
def local(folder: Path, shell: Shell, *, has_ssh: bool = False) -> Iterator[None]:
    """Have the control plane and a quick simulated cloud up, for a shell whose home is there."""
    config = folder / "cloud.json"
    config.write_text(json.dumps(QUICK))
    if has_ssh:
        shell.type("sandbox", "up", "--ssh", "--config", str(config))
    shell.type("local", "up", "--sandbox-config", str(config))
    yield
    shell.type("local", "down")
