"""Many slices at once, and what the cloud was asked for in each minute."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime

from shared.core.limits import Limits
from shared.errors import ControlPlaneError
from shared.ports import BidRequest
from tests.unit.app.world import World


class Watched:
    """A world that writes down every request that reaches its cloud."""

    def __init__(self, world: World, **limits: int) -> None:
        self.world = world
        self.asked: list[tuple[datetime, str]] = []
        world.app = replace(world.app, limits=Limits(**limits))
        self._create = world.slices.create
        world.slices.create = self._watch  # type: ignore[method-assign]

    def _watch(self, request: BidRequest) -> str:
        self.asked.append((self.world.clock.now(), request.name))
        return self._create(request)

    @property
    def names(self) -> list[str]:
        """All names, in the order in which they were asked for."""
        return [name for _, name in self.asked]

    @property
    def by_minute(self) -> list[int]:
        """How many requests there were in each minute that had some."""
        minutes = Counter(at.replace(second=0, microsecond=0) for at, _ in self.asked)
        return [minutes[minute] for minute in sorted(minutes)]

    def submit(self, count: int, **priorities: int) -> list[str]:
        """Order jobs a second apart; return the names of their slices' bids, in that order."""
        for number in range(count):
            priority = priorities.get(f"job{number}", 0)
            outcome = self.world.submit(job_of(number), priority=priority)
            assert "accepted" == outcome.outcome, outcome.reason
            self.world.clock.advance(1.0)
        return [self.bid_of(number) for number in range(count)]

    def bid_of(self, number: int) -> str:
        """The name of the newest bid of a job."""
        return self.world.slice(job_of(number)).generations[-1].bids[-1].name

    def detail_of(self, number: int) -> str:
        """What the newest bid of a job waits for."""
        return self.world.slice(job_of(number)).generations[-1].bids[-1].detail

    def to_next_minute(self) -> None:
        """Let the minute end, and the tick come."""
        now = self.world.clock.now()
        self.world.tick(60.0 - now.second - now.microsecond / 1e6 + 0.5)

    def fail(self, error: ControlPlaneError, *, count: int = 1) -> None:
        """Let the next requests be refused."""
        self.world.slices.fail_next("create", error, count=count)


def job_of(number: int) -> str:
    """The id of a job."""
    return f"job{number:09}"
