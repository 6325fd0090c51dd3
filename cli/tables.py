"""Plain text for terminals: columns, ages, times.

Rich would make these tables too, but loading it takes longer than ``ps`` may take in all.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from unicodedata import category, east_asian_width

GAP: Final = "  "
WIDTH_MIN: Final = 20
WIDTH_PIPED: Final = 200
ELASTIC_MIN: Final = 8
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_TWO: Final = 2


def width() -> int:
    """Return how wide a line may be; what goes into a file or a pipe has room."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return WIDTH_PIPED
    return max(WIDTH_MIN, shutil.get_terminal_size().columns)


def table(
    rows: Sequence[Sequence[str]],
    *,
    columns: int,
    right: frozenset[int] = frozenset(),
    elastic: int = -1,
) -> list[str]:
    """Align rows; where they are too wide the elastic column is cut, then the gaps.

    An empty column is left out, and so is an elastic one at the end that would show nothing.
    """
    shown = [index for index in range(len(rows[0])) if any(row[index] for row in rows)]
    widths = {index: max(cells(row[index]) for row in rows) for index in shown}
    elastic %= len(rows[0])
    gap = GAP
    if elastic in widths:
        others = sum(widths.values()) - widths[elastic]
        room = columns - others - len(GAP) * (len(shown) - 1)
        if room < ELASTIC_MIN and elastic == shown[-1]:
            del widths[elastic]
        else:
            gap = GAP if room >= ELASTIC_MIN else GAP[:1]
            widths[elastic] = min(widths[elastic], max(room, ELASTIC_MIN))
    return [cut(_line(row, widths, right, gap), columns) for row in rows]


def fitting(
    rows: Sequence[Sequence[str]], dispensable: Sequence[str], *, columns: int, elastic: str = ""
) -> list[int]:
    """Say which columns to show: those with these headings go, one by one, until the rest fits.

    The elastic one may be cut as far as it can still be read, and the gaps; without one nothing.
    """
    widths = {texts[0]: max(map(cells, texts)) for texts in zip(*rows, strict=True)}
    gap = len(GAP)
    if elastic in widths:
        widths[elastic], gap = min(widths[elastic], ELASTIC_MIN), 1
    for heading in dispensable:
        if sum(widths.values()) + gap * (len(widths) - 1) <= columns:
            break
        widths.pop(heading, None)
    return [index for index, heading in enumerate(rows[0]) if heading in widths]


def wrapped(text: str, *, columns: int, indent: int) -> list[str]:
    """Break a line that is too wide; what is left over stands below, indented."""
    if cells(text) <= columns:
        return [text]
    from textwrap import wrap

    lines = wrap(text[indent:], columns - indent)
    return [text[:indent] + lines[0], *(" " * indent + line for line in lines[1:])]


def cut(text: str, room: int) -> str:
    """Shorten a text to so many cells, with a sign that something is missing."""
    if cells(text) <= room:
        return text
    kept, used = [], 1
    for character in text:
        used += cells(character)
        if used > room:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…" if room > 0 else ""


def cells(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(character) for character in text)


def printable(text: str) -> str:
    """Return one line without anything a terminal would obey."""
    joined = " ".join(text.split())
    return "".join(character if category(character)[0] != "C" else "?" for character in joined)


def verbatim(text: str) -> str:
    """Return a line as it was written, indented, without anything a terminal would obey."""
    line = text.expandtabs().rstrip()
    return "".join(character if category(character)[0] != "C" else "?" for character in line)


def age(since: datetime | None, now: datetime) -> str:
    """Tell how long ago something was, in two figures at most."""
    return "-" if since is None else duration(now - since)


def duration(time: timedelta) -> str:
    """Write a length of time shortly: ``42s``, ``3m12s``, ``5h07m``, ``3d4h``."""
    seconds = max(0, int(time.total_seconds()))
    if seconds < _MINUTE:
        return f"{seconds}s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE}m{seconds % _MINUTE:02d}s"
    if seconds < _DAY:
        return f"{seconds // _HOUR}h{seconds % _HOUR // _MINUTE:02d}m"
    return f"{seconds // _DAY}d{seconds % _DAY // _HOUR}h"


def clock(when: datetime | None, now: datetime) -> str:
    """Write a moment in the reader's time; the day only when it is not today."""
    if when is None:
        return "-"
    local, today = when.astimezone(), now.astimezone().date()
    return local.strftime("%H:%M:%S" if local.date() == today else "%d %b %H:%M:%S")


def _line(row: Sequence[str], widths: Mapping[int, int], right: frozenset[int], gap: str) -> str:
    parts = []
    for index, wide in widths.items():
        text = cut(row[index], wide)
        padding = " " * (wide - cells(text))
        parts.append(padding + text if index in right else text + padding)
    return gap.join(parts).rstrip()


def _cells_of(character: str) -> int:
    if category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return _TWO if east_asian_width(character) in {"W", "F"} else 1
