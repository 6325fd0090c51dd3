"""How long spot nodes live: drawn from a seed, and from nothing else.

The n-th node of a type in a zone has the same luck in every run with the same seed, whatever
else was asked of the cloud in between.
"""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from random import Random
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

_YEAR_S = 366 * 86_400
LifeSeconds = Annotated[float, Field(gt=0, le=_YEAR_S)]

# What public traces of spot VMs look like: a quarter dies early, the rest close to the limit.
_EARLY_SHARE = 0.25
_EARLY_MEAN = 0.08
_LATE_MEAN = 0.1


class Lifetime(BaseModel):
    """A law of life for the spot nodes of some zones and types.

    * ``fixed``: one of ``values_s`` after the other; when they are used up, nodes live for ever,
      or with ``repeat`` it begins again.
    * ``exponential``: no memory, ``mean_s`` on average.
    * ``bathtub``: many die early, most shortly before ``max_s``, few in between.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["fixed", "exponential", "bathtub"]
    zone: str = "*"
    accelerator_type: str = "*"
    values_s: tuple[LifeSeconds, ...] = ()
    repeat: bool = False
    mean_s: LifeSeconds | None = None
    max_s: LifeSeconds | None = None
    silent_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """How many of these nodes get no notice before they are killed."""

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Lifetime:
        needed = {"fixed": "values_s", "exponential": "mean_s", "bathtub": "max_s"}
        given = {name for name in needed.values() if getattr(self, name) not in (None, ())}
        if given != {needed[self.kind]}:
            found = ", ".join(sorted(given)) or "none of them"
            raise ValueError(
                f"kind {self.kind} needs {needed[self.kind]} and nothing else of its"
                f" kind, found {found}"
            )
        return self

    def fits(self, zone: str, accelerator_type: str) -> bool:
        """Tell whether a node of this type in this zone lives by this law."""
        return fnmatchcase(zone, self.zone) and fnmatchcase(accelerator_type, self.accelerator_type)

    def draw(self, chance: Random, number: int) -> float | None:
        """Return how many seconds the ``number``-th of these nodes lives; None: for ever."""
        if self.kind == "fixed":
            return self._listed(number)
        if self.kind == "exponential":
            assert self.mean_s, "checked where it was made"
            return chance.expovariate(1 / self.mean_s)
        assert self.max_s, "checked where it was made"
        return _bathtub(chance, self.max_s)

    def _listed(self, number: int) -> float | None:
        if self.repeat:
            return self.values_s[number % len(self.values_s)]
        return self.values_s[number] if number < len(self.values_s) else None


def chance_of(seed: int, zone: str, accelerator_type: str, number: int) -> Random:
    """Return the source of luck of one node."""
    return Random(f"{seed}/{zone}/{accelerator_type}/{number}")


def _bathtub(chance: Random, max_s: float) -> float:
    is_early = chance.random() < _EARLY_SHARE
    depth = -math.log(1.0 - chance.random()) * (_EARLY_MEAN if is_early else _LATE_MEAN)
    depth = min(depth, 1.0)
    return max_s * (depth if is_early else 1.0 - depth)
