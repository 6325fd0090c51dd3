"""The real gcloud, pointed at a sandbox as `tpuctl sandbox env` does it.

Skipped where it is not installed, unless ``TPUCTL_TESTS_REQUIRE`` names it, as CI does; the same
holds for ``sshd``, OpenSSH's server, where a test logs in to hosts.
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from cli.commands.sandbox_env import variables
from sandbox import sshd
from sandbox.access import Access

# Read before a test's own environment hides it.
_REQUIRED: Final = os.environ.get("TPUCTL_TESTS_REQUIRE", "").split(",")
_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Gcloud:
    """gcloud with a configuration of its own."""

    program: str
    environment: dict[str, str]

    def run(self, *words: str) -> Said:
        """Run a command to its end."""
        done = subprocess.run(
            [self.program, *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def read(self, *words: str) -> object:
        """Run a command that must succeed; return what it prints as JSON."""
        said = self.run(*words, "--format=json")
        assert 0 == said.code, said.err
        return json.loads(said.out or "null")


def program() -> str:
    """Return where gcloud is, or skip the test; fail it where gcloud is required."""
    found = shutil.which("gcloud")
    if found is None and "gcloud" in _REQUIRED:
        pytest.fail("gcloud is required here and is not installed", pytrace=False)
    if found is None:
        pytest.skip("gcloud is not installed (https://cloud.google.com/sdk/docs/install)")
    return found


def require_sshd(folder: Path) -> None:
    """Skip the test where hosts cannot have ssh; fail it where sshd is required."""
    try:
        sshd.open_doors(folder, Access(), lambda: 0.0)
    except sshd.SshUnavailableError as error:
        if "sshd" in _REQUIRED:
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


def make_key(home: Path) -> None:
    """Make a key where gcloud looks for it: making one takes it a second."""
    keys = home / ".ssh"
    keys.mkdir(parents=True)
    key = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(keys / "google_compute_engine"))
    subprocess.run(key, check=True, timeout=30)


def pointed_at(home: Path, url: str, project: str = "sandbox") -> Gcloud:
    """Make a gcloud that speaks to one sandbox and to nobody else."""
    kept = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ
    }
    return Gcloud(program(), {**kept, **variables(home, url=url, project=project)})
