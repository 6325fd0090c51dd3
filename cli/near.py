"""Names that are spelled like one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

NEAR_NAMES_MAX = 3


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are nearest, best first."""
    # Only who mistyped something waits for it.
    from difflib import get_close_matches

    return get_close_matches(name.lower(), list(known), n=NEAR_NAMES_MAX)
