"""The history of a world, and the model that judges it when all is over.

Unlike the checks at every step, this knows nothing of documents: it sees who ran when, what was
saved by whom, and what was promised on the bus.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.hosts import Host
    from tests.simulation.programs import Gang
    from tests.simulation.storage import Key


@dataclass(slots=True)
class Life:
    """One process: from when to when, in seconds; it lives on while ``until_s`` is infinite."""

    attempt: int
    boot: str
    from_s: float
    until_s: float = float("inf")


@dataclass(slots=True)
class History:
    """What happened, in the order in which it happened."""

    stages: list[tuple[float, str, str, str]] = field(default_factory=list)
    lives: dict[str, list[Life]] = field(default_factory=lambda: defaultdict(list))
    saves: dict[str, list[tuple[float, int, int]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    owed: dict[str, tuple[float, str]] = field(default_factory=dict)
    published: dict[str, float] = field(default_factory=dict)
    steps: Counter[tuple[str, str]] = field(default_factory=Counter)
    proofs: Counter[str] = field(default_factory=Counter)

    def started(self, now: float, key: Key, host: Host) -> None:
        """A process began."""
        self.lives[key[0]].append(Life(key[1], host.state.config.boot, now))

    def stopped(self, now: float, key: Key, host: Host) -> None:
        """A process ended, if it was not known to have ended."""
        boot = host.state.config.boot
        for life in self.lives[key[0]]:
            if (life.attempt, life.boot) == (key[1], boot) and life.until_s > now:
                life.until_s = now

    def saved(self, now: float, gang: Gang, step: int) -> None:
        """A checkpoint was completed."""
        self.saves[gang.run.checkpoint_dir].append((now, gang.key[1], step))

    def judge(self) -> list[str]:
        """Say what is wrong with the whole of it; nothing when all is well."""
        return [*self._writers(), *self._boots(), *self._checkpoints(), *self._promises()]

    def _writers(self) -> list[str]:
        """Attempts follow one another: one begins when the last process of another has ended."""
        wrong = []
        for job, lives in self.lives.items():
            spans: dict[int, tuple[float, float]] = {}
            for life in lives:
                begin, end = spans.get(life.attempt, (life.from_s, life.until_s))
                spans[life.attempt] = (min(begin, life.from_s), max(end, life.until_s))
            ordered = sorted(spans.items())
            for (first, (_, end)), (second, (begin, _)) in pairwise(ordered):
                if begin < end:
                    wrong.append(f"{job}: attempt {second} began before {first} had ended")
        return wrong

    def _boots(self) -> list[str]:
        """A boot starts an attempt once."""
        wrong = []
        for job, lives in self.lives.items():
            twice = Counter((life.attempt, life.boot) for life in lives)
            wrong += [f"{job}: {key} was started {n} times" for key, n in twice.items() if n > 1]
        return wrong

    def _checkpoints(self) -> list[str]:
        """In one run attempts save in their order: none writes after a later one did."""
        return [
            f"{folder}: attempt {second} saved after attempt {first}"
            for folder, saves in self.saves.items()
            for (_, first, _), (_, second, _) in pairwise(saves)
            if second < first
        ]

    def _promises(self) -> list[str]:
        """Each event that was committed was published at least once after that."""
        return [
            f"{path} was never published"
            for path, (at, data) in self.owed.items()
            if self.published.get(data, -1.0) < at
        ]
