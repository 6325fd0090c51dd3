"""What will happen later, as data: the only way anything in the cloud happens by itself."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
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

    def of(self, kind: str) -> list[Timer]:
        """Return all timers of a kind, earliest first."""
        return sorted(timer for timer in self._heap if timer.kind == kind)

    def drop(self, kind: str, detail: str | None = None) -> None:
        """Forget all timers of a kind, or those of them with one detail."""
        self._heap = [
            timer
            for timer in self._heap
            if timer.kind != kind or (detail is not None and timer.detail != detail)
        ]
        heapq.heapify(self._heap)

    def by_number(self) -> dict[str, Timer]:
        """Return all timers by their numbers."""
        return {str(timer.number): timer for timer in self._heap}

    def restore(self, timers: Iterable[Timer]) -> None:
        """Be what another queue was."""
        self._heap = list(timers)
        heapq.heapify(self._heap)
        self._number = max((timer.number for timer in self._heap), default=0)

    def pop_due(self, now: float) -> Timer | None:
        """Take the earliest timer that is due."""
        if self._heap and self._heap[0].at <= now:
            return heapq.heappop(self._heap)
        return None
