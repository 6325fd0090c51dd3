"""What owners order in the middle of chaos: stop, kill, resume, pause.

An order that got no answer is given again under its id, as the CLI tells people to. What a job's
owner wants in the end is remembered, so that the judge knows how the job has to end.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Final

from cli.errors import CliError
from cli.orders import Order, give, new_order
from shared.core.model import Job
from shared.core.orders import OrderKind
from shared.core.stages import TERMINAL, Stage
from shared.errors import ControlPlaneError
from tests.chaos.crew import UNANSWERED, Crew
from tests.installations import Work

# How many of those who stopped a job never want it back.
STAYS: Final = 0.2
# How many who want it back do not wait until it has ended.
HASTY: Final = 0.4
WAITS_S: Final = (0.5, 6.0)
LOOK_S: Final = 0.5
PATIENCE_S: Final = 300.0
_REFUSED: Final = "refused: "


@dataclass
class Owners:
    """Give orders beside each other, one at a time for each job."""

    crew: Crew
    chance: Random
    counts: Counter[str]
    _over: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(8))

    def close(self) -> None:
        """Let everybody finish what they began, without waiting for anything else."""
        self._over.set()
        self._pool.shutdown()

    def stop(self, *, kill: bool) -> None:
        """Let one owner stop a job that is under way; most want it back soon."""
        name = self._choose()
        if name is None:
            return
        self.counts["jobs killed by order" if kill else "jobs stopped by order"] += 1
        stays = self.chance.random() < STAYS
        is_hasty = self.chance.random() < HASTY
        waits_s = self.chance.uniform(*WAITS_S)
        self._begin(lambda: self._stop(name, waits_s, kill=kill, stays=stays, is_hasty=is_hasty))

    def pause(self, seconds: float) -> None:
        """Let an admin pause everything for a while."""
        self.counts["pauses"] += 1
        self._begin(lambda: self._pause(seconds))

    def _begin(self, act: Callable[[], None]) -> None:
        self._pool.submit(self._watched, act)

    def _watched(self, act: Callable[[], None]) -> None:
        try:
            act()
        except BaseException as error:
            self.crew.problems.append(f"an owner gave up: {error!r}")
            raise

    def _pause(self, seconds: float) -> None:
        """Who did not pause does not go on: there is one pause at a time."""
        if self._give(OrderKind.PAUSE, {"reason": "chaos"}):
            self._over.wait(seconds)
            self._give(OrderKind.UNPAUSE, {})

    def _choose(self) -> str | None:
        """Choose a job that is under way, and that nobody gives orders about."""
        with self._lock:
            crew = self.crew
            live = sorted(set(crew.works) - set(crew.over) - crew.busy - crew.stopped)
            if not live:
                return None
            name = self.chance.choice(live)
            crew.busy.add(name)
            crew.ordered.add(name)
            return name

    def _stop(self, name: str, waits_s: float, *, kill: bool, stays: bool, is_hasty: bool) -> None:
        work = self.crew.works[name]
        try:
            if not self._give(OrderKind.STOP, {"job": self._read(work).id, "kill": kill}):
                return
            if stays:
                self.crew.stopped.add(name)
            else:
                self._over.wait(waits_s)
                self._resume(name, work, is_hasty=is_hasty)
        finally:
            self.crew.busy.discard(name)

    def _resume(self, name: str, work: Work, *, is_hasty: bool) -> None:
        """Order that it goes on, until that is accepted or it has succeeded."""
        for _ in self._looks(f"{name} cannot be resumed"):
            job = self._read(work)
            if job.stage is Stage.SUCCEEDED:
                return
            can_go_on = job.stage in TERMINAL or (is_hasty and job.stage is Stage.STOPPING)
            if can_go_on and self._resume_once(job.id, job.attempt):
                self.crew.stages[name] = "resumed"
                return

    def _resume_once(self, job: str, attempt: int) -> bool:
        order = new_order(OrderKind.RESUME)
        args = {"job": job, "seen_attempt": attempt, "slice_uid": order.slice_uid}
        given = self._give_as(order, args)
        self.counts["jobs resumed by order"] += given
        return given

    def _give(self, kind: OrderKind, args: Mapping[str, object]) -> bool:
        return self._give_as(new_order(kind), args)

    def _give_as(self, order: Order, args: Mapping[str, object]) -> bool:
        """Give an order until there is an answer; tell whether it was accepted."""
        for _ in self._looks(f"no answer to {order.kind} {order.id}"):
            with suppress(ControlPlaneError):
                try:
                    give(self.crew.stage.installation.opened, order, args)
                except CliError as error:
                    if UNANSWERED in str(error):
                        continue
                    if not str(error).startswith(_REFUSED):
                        raise
                    self.counts["orders refused"] += 1
                    return False
                return True
        raise AssertionError("looks do not end without a word")

    def _read(self, work: Work) -> Job:
        """Read a job, whenever its emulator answers."""
        for _ in self._looks(f"job {work.number} cannot be read"):
            with suppress(ControlPlaneError):
                return work.job
        raise AssertionError("looks do not end without a word")

    @staticmethod
    def _looks(what: str) -> Iterator[None]:
        """Try now and again; for no longer than anything here may take."""
        end, pause = time.monotonic() + PATIENCE_S, threading.Event()
        while time.monotonic() < end:
            yield
            pause.wait(LOOK_S)
        raise AssertionError(f"{what} within {PATIENCE_S:.0f} s")
