"""One installation under the real policy, in a time that only this moves: hours take seconds.

The use cases, the Store, the Bus and the decisions of the agents are the real ones; the cloud
grants, boots and deletes after fixed times, so that two runs count the same.
"""

from __future__ import annotations

import heapq
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from bench.operation_counts import (
    CountingBlobs,
    CountingBus,
    CountingSlices,
    CountingStore,
    Counts,
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
from tests.audit_entries import PREEMPTED, vm_entry
from tests.fakes import FAKE_START
from tests.unit.app.records import Condition
from tests.unit.app.world import World

# Thousands of commits that nobody needs after a crash: a disk would only make them slow.
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - the folder in it is temporary and our own
FUNCTION_OF: Final = {each.name: each.function for each in SUBSCRIPTIONS}
# What the cloud takes for a request, a boot, a delete, and the steps of a preemption.
GRANT_S: Final = 300.0
BOOT_S: Final = 120.0
DELETE_S: Final = 60.0
NOTICE_S: Final = 30.0
AUDIT_S: Final = 35.0
SUSPEND_S: Final = 90.0
# How often a program says its step, and saves.
STEP_S: Final = 20.0
SAVE_S: Final = 600.0
# A job brings a spec and code: its user writes both, each of its hosts reads both.
OBJECTS_OF_A_JOB: Final = 2
# Nothing here takes longer; more is a bug.
EVENT_S_MAX: Final = 3600.0


@contextmanager
def metered_world() -> Iterator[MeteredWorld]:
    """Make an installation over an empty cloud, and forget it."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        world = MeteredWorld(Path(folder))
        try:
            yield world
        finally:
            world.close()


@dataclass(slots=True)
class _Agenda:
    """What happens when; at the same time in the order in which it was planned."""

    planned: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    numbers: count[int] = field(default_factory=count)

    def add(self, at_s: float, act: Callable[[], None]) -> None:
        heapq.heappush(self.planned, (at_s, next(self.numbers), act))


class MeteredWorld(World):
    """An installation that counts what it and its agents ask of Google."""

    meter: Meter

    def __init__(self, path: Path, policy: Policy | None = None) -> None:
        self.ticks_done = 0
        self._agenda = _Agenda()
        self._polls_at: dict[Host, float] = {}
        self._planned: set[tuple[str, str]] = set()
        self._step_number = 0
        super().__init__(path, policy=policy or Policy())
        self.slices.slow_deletes = True
        self.farm = Farm(self.slices, CountingBlobs(self.blobs, self.meter), self.clock)
        self._every(self.policy.tick_s, self.check_health)
        self._every(STEP_S, self._step)
        self._every(SAVE_S, self._save)
        self._every(self.policy.log_s, self._ship_logs)
        self._every(self.policy.progress_s, self._look_for_checkpoints)

    def make_app(self, store: Store, bus: Bus) -> App:
        """Put counters before all ports."""
        self.meter = Meter(self.clock)
        self._published = CountingBus(bus, self.meter)
        return replace(
            super().make_app(CountingStore(store, self.meter), self._published),
            blobs=CountingBlobs(self.blobs, self.meter),
            slices=CountingSlices(self.slices, self.meter, self._follow),
        )

    # --- Functions ------------------------------------------------------------------------------

    def check_health(self) -> None:
        """Tick."""
        self.ticks_done += 1
        with self.meter.invocation("health_check"):
            super().check_health()

    def handle(self, delivery: Delivery) -> Answer:
        """Push one message."""
        size = delivered_bytes(delivery.message)
        with self.meter.invocation(FUNCTION_OF[delivery.subscription], pubsub_bytes=size):
            return super().handle(delivery)

    def publish(self, topic: str, message: Message) -> None:
        """Let a user or Google's audit log say something."""
        self._published.publish(topic, [message])
        self.drain()

    def drain(self) -> None:
        """Deliver what is due; hosts act in their own time."""
        while due := self._pull():
            for delivery in due:
                self.deliver(delivery)

    # --- Time -----------------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        """Seconds since the beginning."""
        return (self.clock.now() - FAKE_START).total_seconds()

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end_s = self.now_s + seconds
        while self._agenda.planned[0][0] <= end_s:
            self._next()
        self.clock.set(FAKE_START + timedelta(seconds=end_s))

    def run_until(self, holds: Condition) -> None:
        """Let time pass until something holds."""
        end_s = self.now_s + EVENT_S_MAX
        while not holds():
            assert self.now_s < end_s, f"did not hold in {EVENT_S_MAX} s: {self.story()}"
            self._next()

    def counted(self, act: Callable[[], None]) -> tuple[Counts, int]:
        """Return what was counted meanwhile, and how many ticks there were."""
        before, ticks = self.meter.counts, self.ticks_done
        act()
        return self.meter.counts - before, self.ticks_done - ticks

    def _next(self) -> None:
        at_s, _, act = heapq.heappop(self._agenda.planned)
        self.clock.set(FAKE_START + timedelta(seconds=at_s))
        act()
        self.drain()

    def _in(self, after_s: float, act: Callable[[], None]) -> None:
        self._agenda.add(self.now_s + after_s, act)

    def _every(self, period_s: float, act: Callable[[], None]) -> None:
        def again() -> None:
            act()
            self._in(period_s, again)

        self._in(period_s, again)

    # --- The cloud ------------------------------------------------------------------------------

    def start(self, job: str) -> None:
        """Submit a job and wait until it runs."""
        self.meter.add(class_a=OBJECTS_OF_A_JOB)
        outcome = self.submit(job)
        assert outcome.outcome == "accepted", outcome.reason
        self.run_until(self.runs_attempt(0, job))

    def preempt(self, job: str) -> None:
        """Take a job's slice away and wait until the job runs again."""
        name, attempt = self.bid.name, self.job(job).attempt
        for host in self.farm.of(name):
            host.notice()
            self._poll_now(host)
            self._in(AUDIT_S, partial(self._log_preemption, host))
        self._in(NOTICE_S, lambda: self.slices.preempt(name))
        self._in(SUSPEND_S, lambda: self.slices.suspend(name))
        self.run_until(self.runs_attempt(attempt + 1, job))

    def end(self, job: str) -> None:
        """Stop a job and wait until nothing of it costs anything."""
        outcome = self.stop(job)
        assert outcome.outcome == "accepted", outcome.reason
        self.run_until(lambda: not self.slice(job).live)

    def _follow(self, call: str, name: str) -> None:
        """Let the cloud do what it was asked for, after a while."""
        if call == "ring":
            for host in self.farm.of(name):
                self._poll_now(host)
        elif (call, name) not in self._planned:
            self._planned.add((call, name))
            act = self._grant if call == "create" else self._finish_delete
            self._in(GRANT_S if call == "create" else DELETE_S, lambda: act(name))

    def _grant(self, name: str) -> None:
        self.slices.make_ready(name)
        self._in(BOOT_S, lambda: self._boot(name))

    def _boot(self, name: str) -> None:
        for host in self.farm.boot(name):
            self.meter.add(class_b=OBJECTS_OF_A_JOB)
            self._poll_now(host)

    def _finish_delete(self, name: str) -> None:
        if name in self.slices.names:
            self.slices.finish_delete(name)

    def _log_preemption(self, host: Host) -> None:
        entry = vm_entry(PREEMPTED, host.hostname, self.clock.now())
        self.publish(Topic.AUDIT, Message(json.dumps(entry).encode()))

    # --- Agents ---------------------------------------------------------------------------------

    def _poll_now(self, host: Host) -> None:
        self._polls_at[host] = self.now_s
        self._in(0.0, lambda: self._poll(host))

    def _poll(self, host: Host) -> None:
        """Read the mandate, say what is to be said, and plan the next look."""
        if host not in self.farm.living or self._polls_at[host] != self.now_s:
            return
        said = host.act()
        if said is not None:
            self._published.publish(Topic.REPORTS, [said])
        pause_s = agent.poll_s(host.state)
        self._polls_at[host] = self.now_s + pause_s
        self._in(pause_s, lambda: self._poll(host))

    @property
    def _running(self) -> list[Host]:
        return [host for host in self.farm.living if host.runs is not None]

    def _step(self) -> None:
        self._step_number += 1
        for host in self._running:
            host.progress(self._step_number)

    def _save(self) -> None:
        for host in self._running:
            if host.config.host == 0:
                host.checkpoint(self._step_number)

    def _ship_logs(self) -> None:
        """Every host prints something: one object each."""
        self.meter.add(class_a=len(self._running))

    def _look_for_checkpoints(self) -> None:
        """One host of a gang lists its folder and looks into the newest."""
        first = sum(host.config.host == 0 for host in self._running)
        self.meter.add(class_a=first, class_b=first)
