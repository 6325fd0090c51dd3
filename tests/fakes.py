"""In-memory stand-ins for the ports, to drive the use cases without a process or a network.

They pass the same contract suites as the real adapters (``tests/contract``), so a use case that
works against them has met every promise it may rely on, and none that it may not: generations
of blobs have no order, replies can be lost after the effect, zones can be unreachable.
"""

from __future__ import annotations

import threading

from shared.errors import Conflict
from shared.ports import Blob, BlobInfo, Clock
from tests.fake_slices import FakeSliceApi
from tests.fake_world import FAKE_START, FailurePlan, FakeClock

__all__ = ["FAKE_START", "FailurePlan", "FakeBlobs", "FakeClock", "FakeSliceApi"]


class FakeBlobs:
    """Objects of one bucket. Generations fall, because real ones have no order either."""

    def __init__(self, clock: Clock | None = None) -> None:
        self.plan = FailurePlan()
        self._clock = clock or FakeClock()
        self._objects: dict[str, Blob] = {}
        self._next_generation = 2**40
        self._lock = threading.Lock()

    def get(self, name: str) -> Blob | None:
        """Read an object, or None."""
        with self.plan.around("get"):
            return self._objects.get(name)

    def put(self, name: str, data: bytes, *, if_generation: int | None = None) -> int:
        """Write an object, if its generation is the expected one."""
        with self.plan.around("put"), self._lock:
            found = self._objects.get(name)
            generation = found.generation if found else 0
            if if_generation not in (None, generation):
                raise Conflict(f"{name} has generation {generation}, not {if_generation}")
            self._next_generation -= 1
            blob = Blob(name, bytes(data), self._next_generation, self._clock.now())
            self._objects[name] = blob
            return blob.generation

    def list(self, prefix: str, *, after: str = "") -> list[BlobInfo]:
        """List the objects under a prefix by name."""
        with self.plan.around("list"):
            return [
                BlobInfo(blob.name, len(blob.data), blob.generation, blob.updated_at)
                for name, blob in sorted(self._objects.items())
                if name.startswith(prefix) and name > after
            ]

    def remove(self, name: str) -> None:
        """Delete an object behind the control plane's back."""
        with self._lock:
            del self._objects[name]
