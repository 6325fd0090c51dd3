"""What an assumption is, what trying it finds, and what is held of it then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from cli.selftest.rig import Rig


class Phase(StrEnum):
    """When an assumption can be tried; in this order."""

    NOTHING = "nothing is asked for yet"
    ASKED = "a request is on its way"
    READY = "its node is READY"
    GONE = "it is deleted"


class Verdict(StrEnum):
    """What is held of an assumption."""

    HOLDS = "holds"
    DOES_NOT = "does not"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found, in a few words, and whether that is what is assumed."""

    found: str
    holds: bool


class NotTriedError(Exception):
    """An assumption could not be tried; the text says why."""


Probe: TypeAlias = "Callable[[Rig], Finding]"


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something that this project takes for true, and that nobody here has seen.

    ``where`` is the file that relies on it; ``command`` is for a person, with PROJECT, ZONE,
    TYPE, RUNTIME and NAME to be filled in. ``question`` is the row of docs/sandbox.md that it
    answers. Without a ``probe`` it says in ``untried`` why not.
    """

    id: str
    claim: str
    where: str
    command: str
    expected: str
    phase: Phase = Phase.READY
    probe: Probe | None = None
    untried: str = ""
    question: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table.  ``cost_usd`` is None where the price is not known."""

    assumption: Assumption
    verdict: Verdict
    found: str
    seconds: float = 0.0
    cost_usd: float | None = 0.0


def seconds_text(seconds: float) -> str:
    """Write a measured time."""
    return f"{seconds:.1f} s" if seconds < MINUTE_S else f"{seconds / MINUTE_S:.1f} min"


MINUTE_S: Final = 60.0
HOUR_S: Final = 3600.0
