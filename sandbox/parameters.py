"""The query of a call: which parameters a method knows, and partial answers (``fields``)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from sandbox.errors import bad_field
from sandbox.schema import camel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sandbox.errors import JsonObject

# What every method of every Google API understands.
SYSTEM_PARAMETERS = frozenset(
    {
        "$.xgafv",
        "$alt",
        "$fields",
        "$key",
        "$prettyPrint",
        "$userProject",
        "access_token",
        "alt",
        "callback",
        "fields",
        "key",
        "oauth_token",
        "prettyPrint",
        "quotaUser",
        "trace",
        "uploadType",
        "upload_protocol",
        "userProject",
    }
)
_WORDS = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*|[*/.,()]")

# What is repeated of a selection that nobody wrote.
_SHOWN_MAX = 200

# What to keep of an object, by key; an empty one keeps all.
_Selection: TypeAlias = "dict[str, _Selection]"


def normal(query: Mapping[str, str]) -> dict[str, str]:
    """Spell a method's own parameters in camelCase; REST takes both spellings."""
    return {
        (name if name in SYSTEM_PARAMETERS else camel(name)): value for name, value in query.items()
    }


def check_parameters(given: Mapping[str, str], known: Iterable[str]) -> None:
    """Refuse a parameter that neither the method nor every method has."""
    alt = given.get("$alt") or given.get("alt") or "json"
    if alt.partition(";")[0] != "json":
        raise bad_field("alt", f"Invalid value at 'alt': \"{alt}\"; only json is answered.")
    for name in given:
        if name not in known and name not in SYSTEM_PARAMETERS:
            raise bad_field(
                name,
                f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query '
                f"parameter. Field '{name}' could not be found in request message.",
            )


def selection_of(text: str) -> Callable[[JsonObject], JsonObject]:
    """Read a partial answer's fields: ``nodes(name,state),nextPageToken``, ``state/state``.

    A field mask says the same with dots: ``state.state``.

    Raises INVALID_ARGUMENT for what is not written so.
    """
    if not text:
        return lambda answer: answer
    words = _WORDS.findall(text)
    if "".join(words) != text.replace(" ", ""):
        raise _invalid(text)
    try:
        selection = _fields(words, text)
    except RecursionError:
        raise _invalid(text[:_SHOWN_MAX]) from None
    if words:
        raise _invalid(text)
    return lambda answer: {
        key: _kept(answer[key], selection.get(key, selection.get("*", {})))
        for key in answer
        if key in selection or "*" in selection
    }


def _fields(words: list[str], text: str) -> _Selection:
    """Read fields with commas between them, up to the end or a closing parenthesis."""
    found: _Selection = {}
    while True:
        _one(words, found, text)
        if not words or words[0] != ",":
            return found
        words.pop(0)


def _one(words: list[str], into: _Selection, text: str) -> None:
    if not words or words[0] in "/.,()":
        raise _invalid(text)
    below = into.setdefault(words.pop(0), {})
    if words and words[0] in "/.":
        words.pop(0)
        _one(words, below, text)
    elif words and words[0] == "(":
        words.pop(0)
        below.update(_fields(words, text))
        if not words or words.pop(0) != ")":
            raise _invalid(text)


def _kept(value: object, selection: _Selection) -> object:
    if not selection:
        return value
    if isinstance(value, list):
        return [_kept(each, selection) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _kept(value[key], selection.get(key, selection.get("*", {})))
        for key in value
        if key in selection or "*" in selection
    }


def _invalid(text: str) -> Exception:
    return bad_field("fields", f"Invalid field selection {text}")
