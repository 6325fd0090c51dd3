"""The kinds of text in a job spec, each with the check that refuses what it is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator

from shared.core.catalog import near_names
from shared.core.causes import Cause
from shared.core.rules import PRESETS, Action, Group
from shared.core.spec_errors import shown

# Linux takes at most 128 KiB in one argument or variable; what is left is for its name and for
# what placeholders grow to on the host.
TEXT_BYTES_MAX = 120_000
LABEL_CHARS_MAX = 63
PATTERN_CHARS_MAX = 1000
BOUND_MAX = 1000
RESERVED_PREFIX = "TPUCTL_"

_SLUG = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LABEL = re.compile(rf"[a-z0-9][-a-z0-9.]{{0,{LABEL_CHARS_MAX - 1}}}")
_TAG = re.compile(rf"[A-Za-z0-9][-A-Za-z0-9._=/]{{0,{LABEL_CHARS_MAX - 1}}}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_FOLDER = re.compile(r"gs://[a-z0-9][-a-z0-9._]{1,220}[a-z0-9](/.*)?|/.*")
_RULE_ACTION = re.compile(r"([a-z-]+)(?::(\d{1,4}))?")
# A bound on how often an action is taken makes no sense for the one that ends it all.
_UNBOUNDED = Action.STOP.value
_RULE_CAUSES = tuple(dict.fromkeys([*Cause, *Group]))


def only_one(count: int) -> int:
    """Refuse multislice, until it is there."""
    if count != 1:
        raise ValueError(f"only 1 is possible yet, found {shown(count)}")
    return count


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError("holds a NUL byte, which no program can be given")
    size = len(value.encode())
    if size > TEXT_BYTES_MAX:
        raise ValueError(f"is {size} bytes long; at most {TEXT_BYTES_MAX} are possible")
    return value


def _matching(pattern: re.Pattern[str], expected: str) -> Callable[[str], str]:
    """Make the check that a text has a form, told in words."""

    def check(value: str) -> str:
        if pattern.fullmatch(value) is None:
            raise ValueError(f"expected {expected}, found {shown(value)}")
        return value

    return check


def _not_reserved(name: str) -> str:
    if name.startswith(RESERVED_PREFIX):
        raise ValueError(f"names that begin with {RESERVED_PREFIX} are set by tpuctl")
    return name


def _progress_pattern(pattern: str) -> str:
    if len(pattern) > PATTERN_CHARS_MAX:
        raise ValueError(f"is longer than {PATTERN_CHARS_MAX} characters")
    try:
        groups = re.compile(pattern).groupindex
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    if "step" not in groups:
        raise ValueError("needs a group for the step, for example step (?P<step>[0-9]+)")
    return pattern


def _rule_preset(name: str) -> str:
    if name not in PRESETS:
        raise ValueError(f"expected one of {', '.join(PRESETS)}; found {shown(name)}")
    return name


def _rule_cause(cause: str) -> str:
    if cause not in _RULE_CAUSES or cause == Cause.SUCCEEDED:
        near = near_names(cause, _RULE_CAUSES)
        known = f"near: {', '.join(near)}" if near else f"known: {', '.join(_RULE_CAUSES)}"
        raise ValueError(f"{shown(cause)} is no cause; {known}")
    return cause


def _rule_action(written: str) -> str:
    match = _RULE_ACTION.fullmatch(written)
    if match is None or match[1] not in set(Action):
        actions = ", ".join(Action)
        raise ValueError(f"expected one of {actions}, with :N for a bound; found {shown(written)}")
    if match[2] and (match[1] == _UNBOUNDED or not 1 <= int(match[2]) <= BOUND_MAX):
        raise ValueError(f"a bound is 1 to {BOUND_MAX}, and stop has none; found {written}")
    return written


Text = Annotated[str, AfterValidator(_text)]
Slug = Annotated[
    str,
    AfterValidator(
        _matching(
            _SLUG,
            "a name of at most 40 lower-case letters, digits and hyphens that begins with a letter"
            " and does not end with a hyphen",
        )
    ),
]
Label = Annotated[str, AfterValidator(_matching(_LABEL, "lower-case letters, digits and hyphens"))]
Tag = Annotated[
    str, AfterValidator(_matching(_TAG, "at most 63 letters, digits and any of - . _ = /"))
]
EnvName = Annotated[
    Text,
    AfterValidator(_matching(_ENV_NAME, "a name of letters, digits and underscores")),
    AfterValidator(_not_reserved),
]
Sha256 = Annotated[str, AfterValidator(_matching(_SHA256, "64 hexadecimal digits"))]
Commit = Annotated[str, AfterValidator(_matching(_COMMIT, "a full commit id"))]
Folder = Annotated[
    Text, AfterValidator(_matching(_FOLDER, "gs://bucket/folder or an absolute path"))
]
ProgressPattern = Annotated[Text, AfterValidator(_progress_pattern)]
RulePreset = Annotated[str, AfterValidator(_rule_preset)]
RuleCause = Annotated[str, AfterValidator(_rule_cause)]
RuleAction = Annotated[str, AfterValidator(_rule_action)]
