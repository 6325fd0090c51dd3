"""Who is woken in the place of a control plane: this process, and Cloud Scheduler."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.app import health_check
from shared.errors import ControlPlaneError
from shared.ports import TickAttempt
from tests.unit.cli.stage import Installed

CLOUD = '[cloud]\nproject = "lab-project"\nbucket = "lab-bucket"\nregion = "europe-west4"\n'


@dataclass
class Woken:
    """Counts the pokes that reach this process, and may begin a tick at each."""

    count: int = 0
    then: Callable[[], None] = field(default=lambda: None)
    threads: list[threading.Thread] = field(default_factory=list)

    def hear(self, *_: object) -> None:
        """Take the place of ``functions.ticks``."""
        self.count += 1
        # What interrupts the command may not use its connections.
        thread = threading.Thread(target=self.then)
        self.threads.append(thread)
        thread.start()


@dataclass
class FakeTicker:
    """Takes the place of Cloud Scheduler."""

    answer: ControlPlaneError | None = None
    attempt: TickAttempt | ControlPlaneError | None = None
    fired: int = 0
    then: Callable[[], None] = field(default=lambda: None)

    def fire(self) -> None:
        """Begin a tick, or refuse to."""
        if self.answer is not None:
            raise self.answer
        self.fired += 1
        self.then()

    def last_attempt(self) -> TickAttempt | None:
        """Say how it went."""
        if isinstance(self.attempt, ControlPlaneError):
            raise self.attempt
        return self.attempt


def ticked(installed: Installed, at: datetime, **fields: Any) -> None:
    """Write that a tick began."""
    installed.put(health_check.TICK, {"summary": "", "at": at, **fields})


def ticked_elsewhere(at: datetime) -> None:
    """Write it as another process would."""
    other = Installed()
    try:
        ticked(other, at)
    finally:
        other.store.close()
        other.bus.close()
