"""Placeholders in a job's arguments and environment: which there are, and how they are read.

A known name in braces is replaced on the host when an attempt starts. Everything else in braces
stays as it is, because JSON in arguments is common; doubled braces around a known name keep it
literal. Shell text has no placeholders: it has the environment, and ``${job}`` is its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

# What each stands for is told in docs/job-spec.md; the same values are in the environment.
PLACEHOLDERS = (
    "attempt",
    "checkpoint_dir",
    "host",
    "hosts",
    "job",
    "number",
    "output_dir",
    "resumes",
    "shard",
    "shards",
)
_NAMES = "|".join(PLACEHOLDERS)
PATTERN = re.compile(rf"\{{\{{({_NAMES})\}}\}}|\{{({_NAMES})\}}")
_BRACED = re.compile(r"(?<!\{)\{([A-Za-z_]+)\}(?!\})")
# High enough that {step} is not taken for a misspelled {shard}.
_NEAR = 0.8


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders of a text, as the agent does."""
    return PATTERN.sub(lambda match: _replacement(match, values), text)


def misspelled(text: str) -> Mapping[str, str]:
    """Return the names in braces that look like a placeholder but are none, with the near one."""
    names = dict.fromkeys(_BRACED.findall(text))
    near = {name: get_close_matches(name.lower(), PLACEHOLDERS, 1, _NEAR) for name in names}
    return {name: found[0] for name, found in near.items() if found and found[0] != name}


def _replacement(match: re.Match[str], values: Mapping[str, str]) -> str:
    literal, name = match.groups()
    return f"{{{literal}}}" if literal else values[name]
