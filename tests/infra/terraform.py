"""Run terraform on a copy of ``infra/``, so that no check leaves anything in the tree.

Nothing here needs an account: plans are made in ``terraform test`` with a mock of the provider,
of which only the schema is real. Where the provider cannot be downloaded,
``$TERRAFORM_OFFLINE`` names a program that takes whole commands as its arguments and runs them
with that schema.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.infra.plans import INFRA, TOPOLOGY

WRAPPER_VARIABLE: Final = "TERRAFORM_OFFLINE"
MISSING: Final = (
    "there is no terraform on PATH; next: install terraform 1.9 or newer"
    " (developer.hashicorp.com/terraform/install)"
)
NO_PROVIDER: Final = (
    "terraform cannot get its provider hashicorp/google here; next: allow the download, or name in"
    f" ${WRAPPER_VARIABLE} a program that runs terraform commands with the provider's schema"
)
TIMEOUT_S: Final = 300.0
# State and plans of a deployment, and what names its bucket, are none of a check's business.
_LEFT_OUT: Final = (".terraform", ".terraform.lock.hcl", "*.tfstate*", "*.tfvars", "backend.tf")


class NoTerraform(Exception):  # noqa: N818 - it says what is missing, in one sentence
    """Terraform, or the provider it needs, is not to be had."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended and what it printed, standard output first."""

    code: int
    output: str
    problem: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """A copy of ``infra/`` that is initialised: what happens in it stays in it."""

    folder: Path
    environ: Mapping[str, str]

    def terraform(self, *arguments: str) -> Done:
        """Run terraform in the copy."""
        return _run(["terraform", f"-chdir={self.folder / 'infra'}", *arguments], self.environ)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text that stands in one file of the copy."""
        path = self.folder / name
        text = path.read_text("utf-8")
        assert old in text, f"{name} contains {old!r}"
        path.write_text(text.replace(old, new, 1), "utf-8")


@contextmanager
def workspace(environ: Mapping[str, str] | None = None) -> Iterator[Workspace]:
    """Copy ``infra/`` and what it reads, and initialise it.  Raises NoTerraform."""
    environ = dict(os.environ if environ is None else environ)
    if shutil.which("terraform", path=environ.get("PATH")) is None:
        raise NoTerraform(MISSING)
    with tempfile.TemporaryDirectory(prefix="tpuctl-infra-") as name:
        folder = Path(name)
        shutil.copytree(INFRA, folder / "infra", ignore=shutil.ignore_patterns(*_LEFT_OUT))
        data = folder / "shared" / "data"
        data.mkdir(parents=True)
        shutil.copy(TOPOLOGY, data)
        made = Workspace(folder, environ)
        done = made.terraform("init", "-backend=false", "-input=false", "-no-color")
        if done.code:
            raise NoTerraform(f"{NO_PROVIDER} (it said: {_first_error(done)})")
        yield made


def _run(command: list[str], environ: Mapping[str, str]) -> Done:
    wrapper = environ.get(WRAPPER_VARIABLE)
    line = [wrapper, shlex.join(command)] if wrapper else command
    try:
        done = subprocess.run(
            line,
            check=False,
            capture_output=True,
            encoding="utf-8",
            env=dict(environ),
            timeout=TIMEOUT_S,
        )
    except OSError as error:
        raise NoTerraform(f"{line[0]} cannot be run: {error.strerror}") from None
    return Done(done.returncode, done.stdout, done.stderr)


def _first_error(done: Done) -> str:
    """Find terraform's own words among its boxes and wishes."""
    lines = (line.strip("│╷╵ ") for line in (done.problem + done.output).splitlines())
    found = [line for line in lines if line]
    errors = [line for line in found if line.startswith("Error")]
    return (errors or found or ["nothing"])[0]
