"""Virtual time: what happens next, and invocations that wait in the middle of their work.

Every invocation of a function is a coroutine of its own (a greenlet), so the real use cases run
as they are and are still interleaved at each call of a port. Nothing here reads a real clock.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from heapq import heappop, heappush

from greenlet import getcurrent, greenlet

from tests.fake_world import FAKE_START

# How far apart two commits are at least: no two things of the Store happen at one moment.
MOMENT_S = 1e-6


# A world of five jobs takes a few thousand.
STEPS_MAX = 200_000


class Restless(Exception):  # noqa: N818 - says what the world is
    """So much happens that something runs in a circle."""


class Death(BaseException):
    """An invocation that ends in the middle of something: nobody catches this."""


class Engine:
    """A queue of what happens when; ``now`` is in seconds since the beginning."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        self.steps_max = STEPS_MAX
        self._queue: list[tuple[float, int, Callable[[], object]]] = []
        self._count = 0
        self._hub = getcurrent()

    @property
    def time(self) -> datetime:
        """The true time."""
        return FAKE_START + timedelta(seconds=self.now)

    def at(self, time_s: float, act: Callable[[], object]) -> None:
        """Do something at a time, or now if that is over."""
        self._count += 1
        heappush(self._queue, (max(time_s, self.now), self._count, act))

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something later."""
        self._count += 1
        heappush(self._queue, (self.now + seconds, self._count, act))

    def run(self, until_s: float) -> None:
        """Let everything happen until a time."""
        queue = self._queue
        while queue and queue[0][0] <= until_s:
            time_s, _, act = heappop(queue)
            self.now = max(self.now, time_s)
            self.steps += 1
            if self.steps > self.steps_max:
                raise Restless(f"{self.steps} steps and no rest after {self.now:.0f} s")
            act()
        self.now = max(self.now, until_s)

    def begin(self, act: Callable[[], object]) -> None:
        """Run something that may wait; from the queue alone."""
        greenlet(act, self._hub).switch()

    @property
    def can_wait(self) -> bool:
        """Tell whether an invocation is at work, or the world itself."""
        return getcurrent() is not self._hub

    def wait(self, seconds: float) -> None:
        """Let other things happen in the middle of an invocation."""
        self.after(seconds, getcurrent().switch)
        self._hub.switch()

    def moment(self) -> None:
        """Let the smallest time pass."""
        self.now += MOMENT_S


class SimClock:
    """A machine's clock, which may be wrong by some seconds."""

    def __init__(self, engine: Engine, skew_s: float = 0.0) -> None:
        self._engine = engine
        self.skew = timedelta(seconds=skew_s)

    def now(self) -> datetime:
        """Return the time as this machine believes it to be."""
        return self._engine.time + self.skew
