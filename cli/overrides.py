"""`lr=0.01` behind a command: single arguments of a program changed without writing it again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shared.errors import SpecError

FORM: Final = "--{key}={value}"
_OVERRIDE: Final = re.compile(r"([A-Za-z_][-\w.]*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Style:
    """How a program is told: short names of its keys, and the form of one argument."""

    alias: Mapping[str, str] = field(default_factory=dict)
    form: str = FORM


PLAIN: Final = Style()


def is_override(word: str) -> bool:
    """Tell whether a word gives a key a value; a word that begins with a hyphen is an option."""
    return _OVERRIDE.fullmatch(word) is not None


def applied(
    spec: Mapping[str, object], overrides: Sequence[str], style: Style
) -> Mapping[str, object]:
    """Return a spec's fields with arguments changed, or added at the end of the command.

    Raises SpecError where there are no words to change.
    """
    if not overrides:
        return spec
    command = spec.get("command")
    if spec.get("shell") is not None or not isinstance(command, list | tuple) or not command:
        raise SpecError(
            overrides[0], "changes an argument of command, and this job has none that is words"
        )
    words = [str(word) for word in command]
    for override in overrides:
        _apply(words, override, style)
    return {**spec, "command": words}


def _apply(words: list[str], override: str, style: Style) -> None:
    """Replace an argument where it stands, the last one if there are several."""
    key, _, value = override.partition("=")
    told = _told(style, key, value)
    begins = _told(style, key, "")
    for index in range(len(words) - 1, 0, -1):
        if words[index].startswith(begins):
            words[index] = told
            return
    words.append(told)


def _told(style: Style, key: str, value: str) -> str:
    return style.form.replace("{key}", style.alias.get(key, key)).replace("{value}", value)
