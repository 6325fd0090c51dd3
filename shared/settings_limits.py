"""The table ``[limits]``: how much is asked of the cloud, and what an owner may have at once."""

from __future__ import annotations

from dataclasses import fields, replace

from shared.core.limits import Limits
from shared.errors import SpecError
from shared.settings_cloud import check_keys

# Shares of the minute's budget are read in one look (core.rates).
CREATES_MAX = 100_000


def limits_of(path: str, written: object) -> Limits:
    """Read the table; what it leaves out keeps its default.  Raises SpecError."""
    if not isinstance(written, dict):
        raise SpecError(f"{path}: limits", "expected a table")
    check_keys(path, "limits.", written, tuple(each.name for each in fields(Limits)))
    for key, value in written.items():
        least, most = (1, CREATES_MAX) if key == "creates_per_minute" else (0, None)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number or value < least or (most is not None and value > most):
            bound = f"from {least} to {most}" if most else f"of {least} or more"
            raise SpecError(
                f"{path}: limits.{key}", f"expected a whole number {bound}, found {value!r}"
            )
    return replace(Limits(), **written)
