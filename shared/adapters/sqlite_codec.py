"""Documents as JSON text that SQLite can search and people can read.

JSON has no times: a datetime is written as ``{"@time": "2030-01-02T03:04:05.000006Z"}``, of
fixed width, so that text order is time order. Numbers that JSON lacks (``nan``, ``inf``) become
``{"@number": "nan"}``. Keys of users' data that start with ``@`` get one more ``@``, so nothing
a user writes can be taken for a tag. Decoding returns exactly what was encoded, except that a
tuple comes back as a list.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from shared.errors import InvalidRequest

if TYPE_CHECKING:
    from shared.ports import Fields, Value

TIME_TAG: Final = "@time"
NUMBER_TAG: Final = "@number"

DEPTH_MAX: Final = 20  # Firestore's limit for maps in maps
INTEGER_MAX: Final = 2**63 - 1  # Firestore and SQLite: 64 bits, signed

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def encode(fields: Fields) -> str:
    """Write the fields of a document as JSON.  Raises InvalidRequest for what has no JSON form."""
    plain = _plain(fields, depth=0)
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _checked_text(text)


def decode(text: str) -> dict[str, Value]:
    """Read what ``encode`` wrote."""
    fields: dict[str, Value] = json.loads(text, object_hook=_revive)
    assert isinstance(fields, dict), "a document is a mapping"
    return fields


def time_text(when: datetime) -> str:
    """Write a time in fixed width, in UTC, to the microsecond."""
    if when.tzinfo is None:
        raise InvalidRequest(f"{when!r} has no time zone")
    try:
        utc = when.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise InvalidRequest(f"{when} is no time in UTC") from None
    return utc.isoformat(timespec="microseconds") + "Z"


def to_us(when: datetime) -> int:
    """Count the microseconds since 1970."""
    return (when - _EPOCH) // _MICROSECOND


def from_us(microseconds: int) -> datetime:
    """Return the time so many microseconds after 1970."""
    return _EPOCH + microseconds * _MICROSECOND


def _plain(value: object, *, depth: int) -> object:
    """Turn a value into what ``json.dumps`` takes, checked and with tags."""
    if depth > DEPTH_MAX:
        raise InvalidRequest(f"a document is nested deeper than {DEPTH_MAX} levels")
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, (int, float)):
        return _plain_number(value)
    if isinstance(value, datetime):
        return {TIME_TAG: time_text(value)}
    if isinstance(value, Mapping):
        return {_escaped(key): _plain(item, depth=depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_plain_item(item, depth=depth + 1) for item in value]
    raise InvalidRequest(f"a document cannot hold a {type(value).__name__}")


def _plain_item(item: object, *, depth: int) -> object:
    """Turn an item of a list into JSON; Firestore has no lists in lists, so neither have we."""
    if isinstance(item, (list, tuple)):
        raise InvalidRequest("a document cannot hold a list in a list")
    return _plain(item, depth=depth)


def _plain_number(value: float) -> object:
    if isinstance(value, int):
        if not -INTEGER_MAX - 1 <= value <= INTEGER_MAX:
            raise InvalidRequest(f"a document cannot hold {value}: more than 64 bits")
        return value
    return value if math.isfinite(value) else {NUMBER_TAG: repr(value)}


def _escaped(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidRequest(f"a document cannot hold the key {key!r}: not a string")
    return f"@{key}" if key.startswith("@") else key


def _checked_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            "a document cannot hold text that is not Unicode (a lone surrogate)"
        ) from error
    return text


def _revive(found: dict[str, Value]) -> Value:
    """Undo the tags and escapes of one JSON object; those inside it are done already."""
    if len(found) == 1:
        time, number = found.get(TIME_TAG), found.get(NUMBER_TAG)
        if isinstance(time, str):
            return datetime.fromisoformat(time)
        if isinstance(number, str):
            return float(number)
    if "@" not in "".join(found):
        return found
    return {key.removeprefix("@"): item for key, item in found.items()}
