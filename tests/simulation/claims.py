"""What a world says when something does not hold."""

from __future__ import annotations


class Violation(BaseException):
    """An invariant does not hold: nobody catches this but who runs the seed."""


def claim(holds: bool, text: str) -> None:  # noqa: FBT001 - reads like assert
    """Raise Violation unless something holds."""
    if not holds:
        raise Violation(text)
