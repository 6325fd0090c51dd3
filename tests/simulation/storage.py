"""The bucket: mandates that agents read, and the checkpoints that programs write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from shared.errors import Unavailable
from shared.ports import Blob, BlobInfo
from tests.fakes import FakeBlobs
from tests.simulation.engine import SimClock

Key = tuple[str, int]


@dataclass(slots=True)
class Checkpoints:
    """The checkpoints of one run: who completed which step, in the order of time."""

    written: list[tuple[int, Key]] = field(default_factory=list)

    @property
    def newest(self) -> int:
        """The newest complete step; 0 before there is any."""
        return max((step for step, _ in self.written), default=0)


class Storage(FakeBlobs):
    """Objects that can be out of reach for everybody."""

    def __init__(self, clock: SimClock) -> None:
        super().__init__(clock)
        self.is_down = False
        self.up_since = 0.0
        self.changes = 0
        self.changed: Callable[[str], None] = lambda _: None
        self.listed: Callable[[str], None] = lambda _: None
        self.left_read = 0
        self.runs: dict[str, Checkpoints] = defaultdict(Checkpoints)

    def get(self, name: str) -> Blob | None:
        """Read an object, or None."""
        self._check()
        self.left_read += ".host-" in name
        return super().get(name)

    def list(self, prefix: str, *, after: str = "") -> list[BlobInfo]:
        """List objects; what hosts leave there again and again is newer than half a minute."""
        self._check()
        self.listed(prefix)
        return super().list(prefix, after=after)

    def put(self, name: str, data: bytes, *, if_generation: int | None = None) -> int:
        """Write an object, and let those hear of it who wait for it."""
        self._check()
        generation = super().put(name, data, if_generation=if_generation)
        self.changes += 1
        self.changed(name)
        return generation

    def _check(self) -> None:
        if self.is_down:
            raise Unavailable("storage does not answer")
