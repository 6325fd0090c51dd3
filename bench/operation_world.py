"""One installation on real policies, in a time that only this moves: hours take a second.

The use cases, the Store, the Bus and the decisions of the agents are the real ones; the cloud
grants, boots and deletes after fixed times, so that two runs count the same.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from bench.operation_counts import (
    Counts,
    CountingBlobs,
    CountingBus,
    CountingSlices,
    CountingStore,
    Meter,
    delivered_bytes,
)
from shared.app.context import App
from shared.app.push import Answer
from shared.core.policy import Policy
from shared.host import agent
from shared.ports import Bus, Delivery, Message, Store
from shared.topology import SUBSCRIPTIONS, Topic
from tests.agents import Farm, Host
from tests.audit_entries import preempted
from tests.unit.app.world import World

FUNCTION_OF: Final = {each.name: each.function for each in SUBSCRIPTIONS}

# What the cloud takes for a request, a boot, a delete and the end of a preemption.
GRANT_S: Final = 300.0
BOOT_S: Final = 120.0
DELETE_S: Final = 60.0
NOTICE_S: Final = 30.0
SUSPEND_S: Final = 60.0
AUDIT_S: Final = 5.0
# What a program does: it says its step, and saves.
STEP_S: Final = 20.0
SAVE_S: Final = 600.0
# Nothing here takes longer than an hour; more is a bug.
EVENT_S_MAX: Final = 3600.0


@dataclass(slots=True)
class _Agenda:
    """What happens when, in the order in which it was planned."""

    planned: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    def add(self, at_s: float, act: Callable[[], None]) -> None:
        heapq.heappush(self.planned, (at_s, next(self.numbers), act))


class MeteredWorld(World):
    """An installation that counts what it asks of Google, agents included."""

    def __init__(self, path: Path, policy: Policy | None = None) -> None:
        self._agenda = _Agenda()
        self._polls_at: dict[int, float] = {}
        self._steps = count(1)
        super().__init__(path, policy=policy or Policy())
        self.slices.slow_deletes = True
        self.farm = Farm(self.slices, CountingBlobs(self.blobs, self.meter), self.clock)
        self._agenda.add(self.policy.tick_s, self._tick)
        self._agenda.add(STEP_S, self._step)
        self._agenda.add(SAVE_S, self._save)
        self._agenda.add(self.policy.log_s, self._ship_logs)
        self._agenda.add(self.policy.progress_s, self._look_for_checkpoints)

    def make_app(self, store: Store, bus: Bus) -> App:
        """Put counters before all ports."""
        self.meter = Meter(self.clock)
        self._said = CountingBus(bus, self.meter)
        return replace(
            super().make_app(CountingStore(store, self.meter), self._said),
            blobs=CountingBlobs(self.blobs, self.meter),
            slices=CountingSlices(self.slices, self.meter, self._follow),
        )

    # --- Time -----------------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        """Seconds since the beginning."""
        return self.farm_time().now

    def farm_time(self) -> object:  # replaced below
        """Never called."""
        raise NotImplementedError
