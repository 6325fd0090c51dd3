"""What Terraform made: the output ``settings`` of ``infra/``, asked of it or read from a file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cli.errors import CliError

OUTPUT: Final = "settings"
STDIN: Final = "-"
_CALL_S: Final = 120.0
_TEXT_CHARS_MAX: Final = 300
_ERROR: Final = "Error: "


def read_settings(source: str) -> Mapping[str, Any]:
    """Return the tables of settings.toml: from Terraform's folder, a saved JSON file, or ``-``.

    Raises CliError.
    """
    path = Path(source)
    if source == STDIN:
        return _settings_in(sys.stdin.read(), "standard input", Path())
    if path.is_dir():
        return _settings_in(_output(path), source, path)
    try:
        return _settings_in(path.read_text("utf-8"), source, path.parent)
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(
            f"{source} cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}",
            next_step="name the folder of Terraform, or a file with: terraform output -json",
        ) from None


def _output(folder: Path) -> str:
    """Ask Terraform for its outputs."""
    try:
        done = subprocess.run(
            ["terraform", f"-chdir={folder}", "output", "-json", "-no-color"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_CALL_S,
            check=False,
        )
    except FileNotFoundError:
        raise CliError(
            "terraform is not on the PATH",
            next_step="install it, or name a file with: terraform output -json",
        ) from None
    except subprocess.TimeoutExpired:
        raise CliError(
            f"terraform did not answer within {_CALL_S:.0f} s",
            next_step=f"terraform -chdir={folder} output -json",
        ) from None
    if done.returncode:
        raise CliError(
            f"terraform in {folder}: {_complaint(done.stderr)}",
            next_step="make plan with its PROJECT and REGION initialises terraform here",
        )
    return done.stdout


def _settings_in(text: str, source: str, folder: Path) -> Mapping[str, Any]:
    """Read ``terraform output -json``, or ``terraform output -json settings``."""
    try:
        found = json.loads(text)
    except ValueError:
        raise CliError(
            f"{source} is not what terraform output -json prints",
            next_step="terraform output -json > outputs.json",
        ) from None
    if isinstance(found, dict):
        whole = found.get(OUTPUT)
        settings = whole.get("value") if isinstance(whole, dict) else found
        if isinstance(settings, dict) and "wiring" in settings:
            return settings
    raise CliError(
        f"{source} has no output {OUTPUT}: nothing is applied, or it is another configuration",
        next_step=f"make deploy, or terraform -chdir={folder} apply",
    )


def _complaint(text: str) -> str:
    """Return what went wrong, without Terraform's frame and the warnings around it."""
    lines = [line for line in (each.strip(" \t│╷╵") for each in text.splitlines()) if line]
    errors = [line for line in lines if line.startswith(_ERROR)]
    line = (errors or lines or ["it gave no reason"])[0]
    return line.removeprefix(_ERROR)[:_TEXT_CHARS_MAX]
