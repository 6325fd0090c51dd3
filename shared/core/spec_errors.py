"""What is wrong with a job spec, in the user's words.

Turns the first error that pydantic found into a ``SpecError``: which field, what was expected,
what was found, and for a key that does not exist the nearest ones. Values are shortened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from shared.core.catalog import near_names
from shared.errors import SpecError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

SHOWN_CHARS_MAX = 40

# Words that people try first, and our word for them.
_ALSO_CALLED = {
    "accelerator": "accelerator_type",
    "args": "command",
    "cmd": "command",
    "environment": "env",
    "retries": "budgets",
    "run": "command",
    "runtime": "runtime_version",
    "script": "shell",
    "type": "accelerator_type",
    "zone": "zones",
}
_EXPECTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "string_type": "text",
    "string_unicode": "valid Unicode text",
    "tuple_type": "a list",
}
_BOUNDS = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}


def spec_error(error: ValidationError, known_keys: Mapping[str, Iterable[str]]) -> SpecError:
    """Say what is wrong first: an unknown key explains other errors, so it goes before them.

    ``known_keys`` are those of every level, by the field that holds the level.
    """
    details = error.errors(include_url=False)
    first = min(details, key=lambda detail: detail["type"] != "extra_forbidden")
    return SpecError(_field(first["loc"]) or "command", _reason(first, known_keys))


def reason_of(detail: ErrorDetails) -> str:
    """Say what was expected and what was found, of any error but a key that does not exist."""
    kind, given, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"expected {words} {context[key]:.15g}, found {shown(given)}"
    match kind:
        case "missing":
            return "is missing"
        case "value_error":
            return str(context["error"])
        case "enum" | "literal_error":
            return f"expected {context['expected']}, found {found(given)}"
        case "too_long":
            return f"expected at most {context['max_length']} items, found more"
        case _:
            expected = _EXPECTED.get(kind)
            return f"expected {expected}, found {found(given)}" if expected else detail["msg"]


def found(value: object) -> str:
    """Describe a value that is not what was expected."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {shown(value)}"
        case str():
            return f"the text {shown(value)}" if value else "an empty text"
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list" if value else "an empty list"
        case _:
            return f"a {type(value).__name__}"


def shown(value: object) -> str:
    """Show a value, and of a long one its beginning and its length."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print an integer of more than 4300 digits.
        return "(too long to print)"
    if len(text) <= SHOWN_CHARS_MAX:
        return text
    length = len(value) if isinstance(value, str) else len(text)
    return f"{text[:SHOWN_CHARS_MAX]}… ({length} characters)"


def _field(location: Sequence[int | str]) -> str:
    """Write a location as people do: ``env.HOME``, ``command[2]``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{shorten(part)}" for part in location)
    return "".join(part for part in parts if part != ".[key]").removeprefix(".")


def shorten(key: str) -> str:
    """Shorten a key that is too long to be one."""
    return key if len(key) <= SHOWN_CHARS_MAX else f"{key[:SHOWN_CHARS_MAX]}…"


def _reason(detail: ErrorDetails, known_keys: Mapping[str, Iterable[str]]) -> str:
    if detail["type"] != "extra_forbidden":
        return reason_of(detail)
    above, key = _field(detail["loc"][:-1]), str(detail["loc"][-1])
    return _no_such_key(key, known_keys.get(above, ()))


def _no_such_key(key: str, known_keys: Iterable[str]) -> str:
    near = (_ALSO_CALLED[key],) if key in _ALSO_CALLED else near_names(key, known_keys)
    return f"there is no such key; near: {', '.join(near)}" if near else "there is no such key"
