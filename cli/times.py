"""Lengths of time and moments as people type them."""

from __future__ import annotations

import re
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta
from typing import Final

import typer

_LENGTH: Final = re.compile(r"(?:(\d{1,99})d)?(?:(\d{1,99})h)?(?:(\d{1,99})m)?(?:(\d{1,99})s?)?")
_UNITS: Final = (86400, 3600, 60, 1)
_DAYS_MAX: Final = 9999
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_LENGTHS_SHOWN: Final = "90, 5m or 2h30m, or 2d for days"


def seconds(flag: str, written: str) -> float:
    """Read a length of time; without a unit it is seconds.  Raises BadParameter."""
    match = _LENGTH.fullmatch(written)
    if match is None or not written:
        raise typer.BadParameter(f"{flag}: {written!r} is no time such as {_LENGTHS_SHOWN}")
    parts = zip(match.groups(), _UNITS, strict=True)
    found = sum(int(part or 0) * unit for part, unit in parts)
    if found > _DAYS_MAX * _UNITS[0]:
        raise typer.BadParameter(f"{flag}: {written!r} is too long: at most {_DAYS_MAX}d")
    return float(found)


def seconds_of(flag: str, written: str | None) -> float | None:
    """Read a length of time that may be missing.  Raises BadParameter."""
    return None if written is None else seconds(flag, written)


def moment(flag: str, written: str, now: datetime) -> datetime:
    """Read when something began, in UTC: so long ago, a clock time of today, or a date.

    Clock times and dates without a zone are the reader's own.  Raises BadParameter, for what is
    still to come, too.
    """
    if written and _LENGTH.fullmatch(written):
        return now.astimezone(UTC) - timedelta(seconds=seconds(flag, written))
    found = _of_today(written, now) or _date(written)
    if found is None:
        raise typer.BadParameter(
            f"{flag}: {written!r} is neither so long ago ({_LENGTHS_SHOWN}),"
            " nor a time (14:30), nor a date (2026-05-31, 2026-05-31T14:30)"
        )
    if found.astimezone(UTC) > now:
        raise typer.BadParameter(f"{flag}: {written!r} is still to come")
    return found.astimezone(UTC)


def _of_today(written: str, now: datetime) -> datetime | None:
    """Read a clock time; one that is still to come was yesterday's."""
    match = _CLOCK.fullmatch(written)
    if match is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        found = now.astimezone().replace(hour=hour, minute=minute, second=second, microsecond=0)
    except ValueError:
        return None
    return found if found <= now else found - timedelta(days=1)


def _date(written: str) -> datetime | None:
    """Read a date; the first and the last year have moments that other zones cannot tell."""
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    return found if MINYEAR < found.year < MAXYEAR else None
