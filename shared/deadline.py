"""How much of its time an invocation has left.

A function that timed out goes on running, unseen, beside the redelivery of its message. Every
effect is fenced, so nothing breaks; but whoever has no time left must not begin another one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from shared.errors import OutOfTime

# An effect that began in time ends in time: the slowest calls take up to 35 s (shared/adapters).
MARGIN_S = 40.0


@dataclass(frozen=True, slots=True)
class Deadline:
    """A time of a clock that only goes forward; by default it never comes."""

    monotonic: Callable[[], float] = time.monotonic
    at: float = math.inf

    def within(self, seconds: float) -> Deadline:
        """Return the one that is so many seconds away."""
        return replace(self, at=self.monotonic() + seconds)

    @property
    def is_over(self) -> bool:
        """The time is up: begin nothing more."""
        return self.monotonic() >= self.at

    def check(self) -> None:
        """Raise OutOfTime when the time is up; to be called before each effect."""
        if self.is_over:
            raise OutOfTime("the time of this delivery is up: the next one goes on")
