"""What will happen later, as data: the only way anything in the cloud happens by itself."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Timer:
    """Something due: its kind, and the name of what it is about.

    ``boot_id`` and other details of the moment at which it was set travel in ``detail``, so
    that a late timer can see that it is out of date.
    """

    at: float
    number: int
    kind: str = field(compare=False)
    target: str = field(compare=False)
    detail: str = field(default="", compare=False)


class Timers:
    """A queue of timers, earliest first; equal times in the order in which they were set."""

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._number = 0

    def set(self, at: float, kind: str, target: str, detail: str = "") -> None:
        """Add a timer."""
        self._number += 1
        heapq.heappush(self._heap, Timer(at, self._number, kind, target, detail))

    def next_at(self) -> float | None:
        """Return when the earliest timer is due."""
        return self._heap[0].at if self._heap else None

    def pop_due(self, now: float) -> Timer | None:
        """Take the earliest timer that is due."""
        if self._heap and self._heap[0].at <= now:
            return heapq.heappop(self._heap)
        return None
