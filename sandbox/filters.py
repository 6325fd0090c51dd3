"""Google's filter language for lists, and ``orderBy`` (https://google.aip.dev/160, /132).

A space and ``AND`` mean the same; ``OR`` binds tighter than both, as theirs does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Final

from sandbox.errors import bad_field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sandbox.errors import JsonObject

Keep = Callable[["JsonObject"], bool]
Rank = tuple[int, float, str]

_COMPARISON: Final = re.compile(
    r"(?P<path>[A-Za-z_][\w./-]*)\s*(?P<sign>!=|<=|>=|=|:|<|>)\s*"
    r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"()]+))'
)
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_ORDERS: Final[Mapping[str, Callable[[Rank, Rank], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
_DEPTH_MAX: Final = 50
_ORDER: Final = re.compile(r"(?P<path>[A-Za-z_][\w.]*)(?P<desc>\s+desc)?")


def filter_of(text: str) -> Keep:
    """Read a filter: what it keeps.  Raises INVALID_ARGUMENT for what is none."""
    reader = _Reader(text.strip())
    if not reader.rest:
        return lambda _: True
    keep = reader.all_of()
    if reader.rest:
        raise reader.refusal()
    return keep


def ordered(text: str, names: Iterable[str], show: Callable[[str], JsonObject]) -> list[str]:
    """Sort names by fields of what they show, the first one first; ``desc`` turns one round.

    Raises INVALID_ARGUMENT for what names no fields.
    """
    found = list(names)
    for word in reversed(text.split(",") if text.strip() else []):
        key = _ORDER.fullmatch(word.strip())
        if key is None:
            raise bad_field("order_by", f"Invalid order_by: '{text}'.")
        path = key["path"]
        rank_of = {name: _rank(_value(show(name), path)) for name in found}
        found.sort(key=rank_of.__getitem__, reverse=bool(key["desc"]))
    return found


class _Reader:
    """Reads a filter from its left to its right."""

    def __init__(self, text: str) -> None:
        self.rest = text
        self._depth = 0

    def all_of(self) -> Keep:
        """Read until the end, or a closing parenthesis: everything has to hold."""
        terms = [self._any_of()]
        while self.rest and not self.rest.startswith(")"):
            self._take(r"AND\b")
            terms.append(self._any_of())
        return lambda shown: all(keep(shown) for keep in terms)

    def refusal(self) -> Exception:
        """Say where it is not understood."""
        return bad_field("filter", f"Invalid list filter. Error parsing filter at '{self.rest}'.")

    def _any_of(self) -> Keep:
        terms = [self._term()]
        while self._take(r"OR\b"):
            terms.append(self._term())
        return lambda shown: any(keep(shown) for keep in terms)

    def _term(self) -> Keep:
        if self._take(r"NOT\b|-"):
            kept = self._inside(self._term)
            return lambda shown: not kept(shown)
        if self._take(r"\("):
            keep = self._inside(self.all_of)
            if not self._take(r"\)"):
                raise self.refusal()
            return keep
        term = self._take(_COMPARISON)
        if term is None:
            raise self.refusal()
        return lambda shown: _holds(term, shown)

    def _inside(self, read: Callable[[], Keep]) -> Keep:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise self.refusal()
        keep = read()
        self._depth -= 1
        return keep

    def _take(self, what: str | re.Pattern[str]) -> re.Match[str] | None:
        found = re.match(what, self.rest)
        if found is not None:
            self.rest = self.rest[found.end() :].lstrip()
        return found


def _holds(term: re.Match[str], shown: JsonObject) -> bool:
    wanted = term["bare"] or re.sub(r"\\(.)", r"\1", term["quoted"] or "")
    return _compares(term["sign"], _value(shown, term["path"]), wanted)


def _value(shown: JsonObject, path: str) -> object:
    value: object = shown
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _compares(sign: str, value: object, wanted: str) -> bool:
    if value is None:
        return sign == "!="
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if sign == ":":
        has = wanted in value if isinstance(value, dict | list) else wanted in text
        return bool(value) if wanted == "*" else has
    if sign in {"=", "!="}:
        return (text == wanted) == (sign == "=")
    return _ORDERS[sign](_rank(text), _rank(wanted))


def _rank(value: object) -> Rank:
    """Say what stands before what: nothing, numbers (int64 is text in JSON), moments, text."""
    if value is None:
        return -1, 0.0, ""
    text = str(value)
    if _NUMBER.fullmatch(text):
        return 0, float(text), ""
    with suppress(ValueError):
        moment = datetime.fromisoformat(text)
        return 1, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), ""
    return 2, 0.0, text
