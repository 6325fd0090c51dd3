"""Documents as Firestore's own values, both ways; what comes back is what went in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from google.cloud.firestore_v1.types import document as types
from google.protobuf.timestamp_pb2 import Timestamp

from shared.ports import Document, Fields, Value

# The messages below the wrappers of Google's library: a tenth of the time.
DocumentPb: Final[Any] = types.Document.pb()
ValuePb: Final[Any] = types.Value.pb()
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NANOS_OF_MICRO: Final = 1000
_RESERVED: Final = re.compile(r"@*(__.*__)?", re.DOTALL)
# In this order: a truth is a number, too, for Python.
_FIELDS: Final = {
    bool: "boolean_value",
    int: "integer_value",
    float: "double_value",
    str: "string_value",
}


def document_pb(name: str, fields: Fields) -> Any:
    """Write a document; its fields were checked before."""
    made = DocumentPb(name=name)
    for key, value in fields.items():
        _fill(made.fields[_escaped(key)], value)
    return made


def value_pb(value: Value) -> Any:
    """Write one value."""
    made = ValuePb()
    _fill(made, value)
    return made


def document_of(path: str, found: Any, read_time: Timestamp) -> Document:
    """Read a document."""
    return Document(
        path=path,
        fields={_key(name): _value(value) for name, value in found.fields.items()},
        token=token_of(found.update_time),
        updated_at=time_of(found.update_time),
        read_at=max(time_of(read_time), time_of(found.update_time)),
    )


def token_of(update_time: Timestamp) -> str:
    """The compare-and-set token is the update time, to the nanosecond."""
    return f"{update_time.seconds}.{update_time.nanos:09}"


def timestamp_of(token: str) -> Timestamp:
    """Read a token."""
    seconds, _, nanos = token.partition(".")
    return Timestamp(seconds=int(seconds), nanos=int(nanos))


def time_of(stamp: Timestamp) -> datetime:
    """Read a time, to the microsecond."""
    return _EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // _NANOS_OF_MICRO)


def _fill(made: Any, value: Value) -> None:
    match value:
        case None:
            made.null_value = 0
        case bool() | int() | float() | str():
            setattr(made, _field_of(value), value)
        case datetime():
            made.timestamp_value.CopyFrom(_stamp(value))
        case Mapping():
            made.map_value.SetInParent()
            for key, item in value.items():
                _fill(made.map_value.fields[_escaped(key)], item)
        case Sequence():
            made.array_value.SetInParent()
            for item in value:
                _fill(made.array_value.values.add(), item)


def _escaped(key: str) -> str:
    """Put one more ``@`` before a name that Firestore keeps for itself, or that is empty."""
    return f"@{key}" if _RESERVED.fullmatch(key) else key


def _key(name: str) -> str:
    return name[1:] if _RESERVED.fullmatch(name) else name


def _field_of(value: object) -> str:
    """Name the kind of a plain value; an enumeration's member is its text."""
    return next(name for kind, name in _FIELDS.items() if isinstance(value, kind))


def _stamp(when: datetime) -> Timestamp:
    seconds, micros = divmod((when - _EPOCH) // timedelta(microseconds=1), 1_000_000)
    return Timestamp(seconds=seconds, nanos=micros * _NANOS_OF_MICRO)


def _value(found: Any) -> Value:
    kind = found.WhichOneof("value_type")
    match kind:
        case "timestamp_value":
            return time_of(found.timestamp_value)
        case "map_value":
            return {_key(name): _value(item) for name, item in found.map_value.fields.items()}
        case "array_value":
            return [_value(item) for item in found.array_value.values]
        case "null_value" | None:
            return None
    value: Value = getattr(found, kind)
    return value
