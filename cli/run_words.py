"""What the words behind `tpuctl run` mean: a program, or a slice and values for a known one.

`tpuctl run v2-1 lr=0.01` is enough where a ``tpuctl.toml`` or a job file says what to run. Words
behind `--` are always the program and its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from cli.errors import USAGE, CliError
from cli.overrides import is_override

# A slice's name, or the handle of one.
_SLICE: Final = re.compile(r"[a-z][-a-z0-9]{0,100}|@last")


@dataclass(frozen=True, slots=True)
class Words:
    """The words, sorted."""

    command: Sequence[str] = ()
    slice: str | None = None
    overrides: Sequence[str] = ()

    @property
    def name_before_flags(self) -> str | None:
        """What may have been meant as a slice, with flags behind it: a program looks the same."""
        first, second = [*self.command, "", ""][:2]
        return first if second.startswith("-") and _SLICE.fullmatch(first) else None


def sorted_words(words: Sequence[str], *, is_program: bool, knows_command: bool) -> Words:
    """Sort the words.  Raises CliError for values that cannot be what was meant.

    Args:
        words: all that stand behind the flags.
        is_program: `--` stood before them.
        knows_command: a file says what to run.
    """
    if is_program or not words:
        return Words(command=words)
    if not knows_command and is_override(words[0]):
        raise _misused(
            f"{words[0]} changes an argument, and nothing says of what: there is no tpuctl.toml"
            " here or above it, and no --file",
            "name a file, or tpuctl run --env KEY=VALUE -- COMMAND for a variable",
        )
    return _known(words) if knows_command else Words(command=words)


def _known(words: Sequence[str]) -> Words:
    """Sort words where a command is known that they may be about."""
    begin = list(takewhile(lambda word: not word.startswith("-"), words))
    first, *others = begin or [""]
    has_slice = _SLICE.fullmatch(first) is not None
    values = others if has_slice and not is_override(first) else begin
    if not (values and is_override(values[0])):
        is_alone = has_slice and len(words) == 1
        return Words(slice=first) if is_alone else Words(command=words)
    wrong = [*(word for word in values if not is_override(word)), *words[len(begin) :]]
    if wrong:
        raise _misused(
            f"{wrong[0]} stands behind {values[0]}: flags come first, then the slice, then values",
            f"tpuctl run [FLAGS] [SLICE] {values[0]}; tpuctl run -- PROGRAM for another program",
        )
    return Words(slice=first if values is others else None, overrides=values)


def _misused(what: str, next_step: str) -> CliError:
    return CliError(what, next_step=next_step, code=USAGE)
