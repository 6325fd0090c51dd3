"""A scenario as a YAML file: the line of every key for what is wrong with it."""

from __future__ import annotations

from pathlib import Path

from sandbox import scenario
from sandbox.errors import SettingsError
from sandbox.scenario import Scenario, ScenarioError
from shared.core.job_file import JobFile, parse_job_file
from shared.errors import SpecError


def load(path: Path) -> tuple[Scenario, JobFile]:
    """Read a file; return also its fields as they were written.

    Raises SettingsError with the file, the line and the field.
    """
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not text in UTF-8") from None
    try:
        found = parse_job_file(text, str(path))
    except SpecError as error:
        raise SettingsError(str(error)) from None
    try:
        return scenario.parse(found.fields), found
    except ScenarioError as error:
        located = found.located(SpecError(error.field, error.reason))
        raise SettingsError(str(located)) from None
