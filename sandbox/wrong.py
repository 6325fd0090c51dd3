"""What is wrong with settings, faults and scenarios, in one sentence that names the place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from shared.core.catalog import near_names
from shared.core.spec_errors import reason_of

if TYPE_CHECKING:
    from pydantic import ValidationError


def with_setting(error: ValidationError, keys: Mapping[int | str, Iterable[str]]) -> str:
    """Name the setting, and the nearest ones where there is none of that name."""
    location, reason, key = _first(error, keys)
    if key is None:
        return f"setting {place(location)}: {reason}"
    return f"there is no setting {place(location)}{reason}"


def with_field(error: ValidationError, keys: Mapping[int | str, Iterable[str]]) -> tuple[str, str]:
    """Return the field, as ``faults[0].zone``, and what is wrong with it."""
    location, reason, key = _first(error, keys)
    return place(location), reason if key is None else f"there is no such key{reason}"


def place(location: Sequence[int | str]) -> str:
    """Write a location as people do: ``failures[0].method``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(part for part in parts if part != ".[key]").removeprefix(".")


def _first(
    error: ValidationError, keys: Mapping[int | str, Iterable[str]]
) -> tuple[tuple[int | str, ...], str, str | None]:
    """Return where, what, and the key that does not exist, which explains other errors."""
    details = error.errors(include_url=False)
    first = min(details, key=lambda detail: detail["type"] != "extra_forbidden")
    location = first["loc"]
    if first["type"] != "extra_forbidden":
        return location, reason_of(first), None
    above = next((part for part in reversed(location[:-1]) if part in keys), "")
    key = str(location[-1])
    near = near_names(key, keys.get(above, ()))
    return location, f"; did you mean {near[0]}?" if near else "", key
