"""What all fakes share: a clock that stands still, and calls that fail as planned."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from shared.errors import ControlPlaneError

FAKE_START = datetime(2030, 1, 1, tzinfo=UTC)


class FakeClock:
    """A clock that only moves when it is told to."""

    def __init__(self, start: datetime = FAKE_START) -> None:
        self._now = start

    def now(self) -> datetime:
        """Return the time that was set last."""
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Move on (or back) by some seconds and return the new time."""
        return self.set(self._now + timedelta(seconds=seconds))

    def set(self, now: datetime) -> datetime:
        """Jump to a time."""
        self._now = now
        return now


@dataclass(slots=True)
class _PlannedFailure:
    """An error that some coming calls will meet, before or after they had their effect."""

    error: ControlPlaneError
    left: int
    after_effect: bool


class FailurePlan:
    """Which calls will fail, and how: shared by the fakes that can fail."""

    def __init__(self) -> None:
        self._planned: dict[str, _PlannedFailure] = {}

    def fail_next(
        self, method: str, error: ControlPlaneError, *, count: int = 1, after_effect: bool = False
    ) -> None:
        """Let the next calls of a method raise; ``after_effect`` means the reply is lost."""
        self._planned[method] = _PlannedFailure(error, count, after_effect)

    @contextmanager
    def around(self, method: str) -> Iterator[None]:
        """Run one call inside its plan: raise before it, after it, or not at all."""
        planned = self._take(method)
        if planned is not None and not planned.after_effect:
            raise planned.error
        yield
        if planned is not None:
            raise planned.error

    def _take(self, method: str) -> _PlannedFailure | None:
        planned = self._planned.get(method)
        if planned is None or planned.left == 0:
            return None
        planned.left -= 1
        return planned
