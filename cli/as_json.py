"""Documents as JSON for programs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import typer


def print_json(value: Any) -> None:
    """Print one JSON value; times are RFC 3339."""
    typer.echo(json.dumps(value, indent=2, default=_plain, ensure_ascii=False))


def _plain(value: object) -> str:
    assert isinstance(value, datetime), f"documents hold no {type(value).__name__}"
    return value.isoformat()
