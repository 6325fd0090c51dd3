"""Tables of a page, as data."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
Row = tuple[str, ...]


def page(name: str) -> str:
    """Read a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def rows(text: str, *header: str) -> list[Row]:
    """Return the rows of the one table with these first columns, cells without their spaces."""
    lines = text.splitlines()
    begins = [index for index, line in enumerate(lines) if _cells(line)[: len(header)] == header]
    assert 1 == len(begins), f"one table begins with {header}"
    found = []
    for line in lines[begins[0] + 2 :]:
        if not line.startswith("|"):
            break
        found.append(_cells(line))
    assert found, f"the table {header} has rows"
    return found


def words(cell: str) -> list[str]:
    """Return what stands in backticks."""
    return re.findall(r"`([^`]*)`", cell)


def fields(table: list[Row]) -> dict[str, str]:
    """Return the type of each field: a row may name several, with a type each or one for all."""
    types: dict[str, str] = {}
    for row in table:
        names = words(row[0])
        split = re.split(r", (?![^{]*\})", row[1])
        kinds = split if len(split) == len(names) else [row[1]] * len(names)
        types |= dict(zip(names, kinds, strict=True))
    return types


def matches(kind: str, value: object) -> bool:
    """Tell whether a value of JSON is of a type as tables write it."""
    if value is None:
        return "null" in kind
    base = kind.split(" or ", maxsplit=1)[0].split(",", maxsplit=1)[0]
    if base.startswith(("{", "object")):
        return isinstance(value, dict)
    types: dict[str, type | tuple[type, ...]] = {
        "int": int,
        "str": str,
        "bool": bool,
        "number": (int, float),
        "RFC 3339": str,
    }
    return isinstance(value, types[base]) and (base == "bool" or not isinstance(value, bool))


def _cells(line: str) -> Row:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
