"""What ``make plan``, ``deploy`` and ``destroy`` are told, refused before any program runs."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn

# The forms that infra/variables.tf takes, and how to write them.
_FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "project": (
        "[a-z][a-z0-9-]{4,28}[a-z0-9]",
        "no project id (not its name, not its number); next: gcloud projects list",
    ),
    "region": ("[a-z]+-[a-z]+[0-9]+", "no region; write it like europe-west4"),
    "prefix": (
        "[a-z][a-z0-9-]{2,10}[a-z0-9]",
        "no prefix: 4 to 12 letters, digits and dashes, and a letter first",
    ),
    "zones": ("[a-z]+-[a-z]+[0-9]+-[a-z]", "no zone; write it like europe-west4-b"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says.  ``zones`` may be empty: then they stay as they are."""

    project: str
    region: str
    prefix: str
    zones: tuple[str, ...]
    force: bool
    delete_data: bool
    yes: bool

    @property
    def state_bucket(self) -> str:
        """Where terraform keeps what it made."""
        return f"{self.project}-{self.prefix}-tfstate"

    @property
    def approval(self) -> tuple[str, ...]:
        """Terraform asks before it changes anything, unless told not to."""
        return ("-auto-approve",) if self.yes else ()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Refuse in one line."""
        print(f"error: {message}", file=sys.stderr)
        sys.exit(2)


def read(
    arguments: list[str] | None, actions: Collection[str], description: str
) -> tuple[str, Asked]:
    """Read which action is asked for, and where.  Ends the program with 2 for what is wrong."""
    parser = _Parser(prog="lifecycle.py", description=description)
    parser.add_argument("action", choices=actions)
    for name in ("project", "region", "prefix", "zones", "force", "delete-data", "yes"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args(arguments)
    if problem := _problem(given):
        parser.error(problem)
    zones = _words(given.zones)
    flags = (bool(given.force), given.delete_data == "yes", bool(given.yes))
    return given.action, Asked(given.project, given.region, given.prefix or "tpuctl", zones, *flags)


def _problem(given: argparse.Namespace) -> str:
    """Say what is missing or written wrongly; nothing when all is well."""
    for name in ("project", "region"):
        if not getattr(given, name):
            usage = f"make {given.action} PROJECT=my-project REGION=europe-west4"
            return f"{name.upper()} is missing; next: {usage}"
    for name, (form, what) in _FORMS.items():
        for word in _words(getattr(given, name)):
            if not re.fullmatch(form, word):
                return f"{name.upper()}: {word!r} is {what}"
    if given.delete_data not in {"", "yes"}:
        return f"DELETE_DATA is yes or nothing, not {given.delete_data!r}"
    return ""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())
