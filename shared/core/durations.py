"""Seconds, as people say them."""

from __future__ import annotations

_MINUTE_S, _HOUR_S = 60, 3600


def spoken(seconds: float) -> str:
    """Write seconds in the unit that people would use, rounded down from minutes on."""
    whole = round(seconds)
    if whole < 2 * _MINUTE_S:
        return f"{whole} s"
    if whole < 2 * _HOUR_S:
        return f"{whole // _MINUTE_S} min"
    return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S} min"
