"""Run gcloud and terraform, and say in one line what they say against it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from infra.complaints import refusal

INFRA: Final = Path(__file__).resolve().parent


class Problem(Exception):  # noqa: N818 - it is a sentence for people, not a fault of the program
    """What is wrong and what to do, in one line."""


def terraform_line(*arguments: str) -> list[str]:
    """Word a command for the configuration that lies here."""
    return ["terraform", f"-chdir={INFRA}", *arguments]


def terraform(*arguments: str) -> None:
    """Run terraform, which speaks to the user itself.  Ends the program with it."""
    run(terraform_line(*arguments))


def run(command: list[str]) -> None:
    """Run a command that speaks to the user itself.  Ends the program with it."""
    # Whoever deploys watches it, and may end it.
    code = subprocess.run(command, check=False).returncode  # nosemgrep: program-limit
    if code:
        sys.exit(code)


def gcloud(project: str, *arguments: str, given: str = "") -> str:
    """Ask gcloud.  Raises Problem with what it says."""
    command = ["gcloud", *arguments, f"--project={project}", "--quiet"]
    done = attempt(command, given)
    if done.returncode:
        said = refusal(done.stderr, project, arguments[0])
        raise Problem(f"gcloud {' '.join(arguments[:3])}: {said}")
    return done.stdout


def attempt(command: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command that may fail, and keep what it says."""
    # An API takes minutes to be switched on, and whoever deploys may end this.
    return subprocess.run(  # nosemgrep: program-limit
        command, check=False, capture_output=True, encoding="utf-8", input=given
    )
