"""When the stand-ins for Cloud Scheduler begin the next tick: after its period, or when poked."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Final

# What `tpuctl poke` sends.
POKE: Final = signal.SIGUSR1


class Ticks:
    """The pauses between the ticks of one process, until it is to stop; ticks never overlap.

    A poke between two ticks ends the pause. One during a tick is kept, because that tick may
    have looked already: another one follows at once, however many pokes there were.
    """

    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop
        # Unlike an Event's `set`, its `put` may interrupt itself: signals come at any moment.
        self._pokes: SimpleQueue[None] = SimpleQueue()
        self._begun_s = time.monotonic()

    def listen(self) -> None:
        """Take the signal for a poke; only the main thread may call it."""
        signal.signal(POKE, lambda *_: self.poke())

    def poke(self) -> None:
        """End the pause, now or as soon as there is one."""
        self._pokes.put(None)

    def begin(self) -> None:
        """Say that a tick begins: it answers all pokes so far."""
        self._begun_s = time.monotonic()
        for _ in range(self._pokes.qsize()):
            self._pokes.get_nowait()

    def pause(self, period_s: float) -> None:
        """Wait until a period after the last beginning, for a poke, or for the stop.

        Whoever sets the stop pokes afterwards.
        """
        if self._stop.is_set():
            return
        rest_s = period_s - (time.monotonic() - self._begun_s)
        with suppress(Empty):
            self._pokes.get(timeout=max(0.0, rest_s))
