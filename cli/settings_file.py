"""The file ``settings.toml`` of a home: written once, and never over a different one unasked."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cli.errors import USAGE, CliError
from shared import settings as home_settings
from shared.errors import SpecError
from shared.settings import HOME_VARIABLE, SETTINGS_VARIABLE, Settings, Wiring

NAME: Final = "settings.toml"


@dataclass(frozen=True, slots=True)
class Draft:
    """Settings that are not written yet: the text of the file, and what it says."""

    text: str
    settings: Settings

    @property
    def path(self) -> Path:
        """Where it belongs."""
        return self.settings.home / NAME

    def is_written(self) -> bool:
        """Tell whether the file says this already."""
        return self.path.exists() and _read(self.path) == tomllib.loads(self.text)

    def write(self) -> None:
        """Write the file, complete or not at all."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f"{NAME}.{os.getpid()}")
        new.write_text(self.text, encoding="utf-8")
        new.replace(self.path)


def draft(home: Path, tables: Mapping[str, Any], source: str) -> Draft:
    """Make settings of tables, without what is empty.  Raises CliError for what is wrong in them.

    ``source`` is where they come from, for the error.
    """
    import tomli_w

    text = tomli_w.dumps(_filled(tables))
    environ = {**os.environ, HOME_VARIABLE: str(home)}
    try:
        settings = _parsed(environ, tables)
    except SpecError as error:
        field = error.field.rpartition(": ")[2]
        raise CliError(
            f"{source}: {field}: {error.reason}", next_step="tpuctl init --help", code=USAGE
        ) from None
    return Draft(text, settings)


def check_replaceable(new: Draft, *, is_forced: bool) -> None:
    """Refuse to take an installation's settings away from it.  Raises CliError."""
    home = new.settings.home
    has_jobs = new.settings.state_path.exists() and new.settings.wiring is Wiring.BOX
    if has_jobs and _wiring_of(new.path) is not Wiring.BOX:
        raise CliError(
            f"{home} holds the jobs of a simulated cloud",
            next_step="name a new folder with TPUCTL_HOME, and run the same command again",
        )
    if new.path.exists() and not new.is_written() and not is_forced:
        raise CliError(
            f"{new.path} says something else already",
            next_step="--force replaces it; or name another folder with TPUCTL_HOME",
        )


def _parsed(environ: Mapping[str, str], tables: Mapping[str, Any]) -> Settings:
    import json

    return home_settings.load({**environ, SETTINGS_VARIABLE: json.dumps(tables)})


def _wiring_of(path: Path) -> Wiring:
    try:
        return Wiring(_read(path).get("wiring", Wiring.EMBEDDED))
    except ValueError:
        return Wiring.EMBEDDED


def _read(path: Path) -> Mapping[str, Any]:
    """Read what is there; what cannot be read says nothing."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _filled(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what says nothing; TOML knows no null."""
    kept: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, Mapping):
            value = _filled(value)  # noqa: PLW2901 - what is kept of it
        if value not in ("", None, [], {}, ()):
            kept[key] = value
    return kept
