"""The ports as a function sees them in the simulated world: every call may go wrong.

Which call goes wrong, and how, is drawn in ``Calls.around``; nothing else here decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from shared.core.cloud import BidRequest, CloudRequest, Listing
from shared.errors import Conflict, ControlPlaneError, Unavailable
from shared.ports import Blob, BlobInfo, Document, Guard, Message, Query, Replace, Write
from tests.simulation.chance import Chance, Fault
from tests.simulation.engine import Death, Engine

if TYPE_CHECKING:
    from tests.simulation.bus import Network
    from tests.simulation.cloud import Cloud
    from tests.simulation.memory_store import MemoryStore
    from tests.simulation.storage import Storage

Answer = TypeVar("Answer")

# A few in a hundred calls: an invocation makes about ten.
DEATH = 0.006
LOST_REPLY = 0.01
STORE_ERROR = 0.02
RACE = 0.02
PAUSE = 0.1
ZOMBIE = 0.003
PAUSES_S = (0.005, 0.05, 0.4, 3.0)
# Longer than any invocation may take: its message was delivered again meanwhile.
ZOMBIE_S = (700.0, 1500.0, 4000.0)


class Calls:
    """What surrounds every call of a port by a function."""

    def __init__(self, engine: Engine, chance: Chance) -> None:
        self.engine, self.chance = engine, chance
        self.points = 0

    def around(
        self, act: Callable[[], Answer], *, is_effect: bool, error: Callable[[], ControlPlaneError]
    ) -> Answer:
        """Make a call; an invocation may wait, fail, or die before it or after it."""
        if not self.chance.is_on or not self.engine.can_wait:
            return act()
        self._wait()
        if not is_effect:
            return act()
        self.points += 1
        self._die()
        answer = act()
        self._die()
        if self.chance.hits(Fault.LOST_REPLIES, LOST_REPLY):
            raise error()
        return answer

    def _wait(self) -> None:
        if self.chance.hits(Fault.INTERLEAVING, PAUSE):
            self.engine.wait(self.chance.of("pauses").choice(PAUSES_S))
        if self.chance.hits(Fault.ZOMBIES, ZOMBIE):
            self.engine.wait(self.chance.of("zombies").choice(ZOMBIE_S))

    def _die(self) -> None:
        if self.chance.hits(Fault.DEATHS, DEATH):
            raise Death


def no_answer() -> ControlPlaneError:
    """Say nothing about whether it happened."""
    return Unavailable("no answer")


@dataclass(frozen=True, slots=True)
class SimStore:
    """The Store; ``watch`` sees each commit before it is applied and after."""

    store: MemoryStore
    calls: Calls
    watch: Callable[[Sequence[Write], Callable[[], None]], None]
    forgets: frozenset[str] = frozenset()

    def get(self, path: str) -> Document | None:
        """Read one document."""
        return self.calls.around(lambda: self.store.get(path), is_effect=False, error=no_answer)

    def query(self, query: Query) -> list[Document]:
        """Read the documents that match."""
        return self.calls.around(lambda: self.store.query(query), is_effect=False, error=no_answer)

    def commit(self, writes: Sequence[Write]) -> None:
        """Apply all writes or none."""
        chance = self.calls.chance
        if chance.hits(Fault.STORE_ERRORS, STORE_ERROR):
            raise Unavailable("the Store does not answer")
        is_race = any(isinstance(write, Replace | Guard) for write in writes)
        if is_race and chance.hits(Fault.INTERLEAVING, RACE):
            raise Conflict("somebody else was first")
        if self.forgets:
            writes = [self._older(write) for write in writes]
        self.calls.around(
            lambda: self.watch(writes, lambda: self.store.commit(writes)),
            is_effect=True,
            error=no_answer,
        )

    def _older(self, write: Write) -> Write:
        """Write what a version would that does not know some fields yet."""
        if not isinstance(write, Replace) or write.path.partition("/")[0] not in {"jobs", "slices"}:
            return write
        fields = {key: value for key, value in write.fields.items() if key not in self.forgets}
        return Replace(write.path, fields, write.token)


@dataclass(frozen=True, slots=True)
class SimBus:
    """The Bus of a function."""

    network: Network
    calls: Calls

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Hand over all messages."""
        self.calls.around(
            lambda: self.network.publish(topic, messages), is_effect=True, error=no_answer
        )


@dataclass(frozen=True, slots=True)
class SimBlobs:
    """The objects of the bucket."""

    storage: Storage
    calls: Calls

    def get(self, name: str) -> Blob | None:
        """Read an object."""
        return self.calls.around(lambda: self.storage.get(name), is_effect=False, error=no_answer)

    def put(self, name: str, data: bytes, *, if_generation: int | None = None) -> int:
        """Write an object."""
        return self.calls.around(
            lambda: self.storage.put(name, data, if_generation=if_generation),
            is_effect=True,
            error=no_answer,
        )

    def list(self, prefix: str, *, after: str = "") -> list[BlobInfo]:
        """List the objects under a prefix."""
        return self.calls.around(
            lambda: self.storage.list(prefix, after=after), is_effect=False, error=no_answer
        )


@dataclass(frozen=True, slots=True)
class SimSlices:
    """Cloud TPU, as a function calls it."""

    cloud: Cloud
    calls: Calls

    def create(self, request: BidRequest) -> str:
        """Ask for a queued resource."""
        return self._call(lambda: self.cloud.create(request), is_effect=True)

    def operation_error(self, operation: str) -> str | None:
        """Say what an operation failed with."""
        return self._call(lambda: self.cloud.operation_error(operation))

    def get(self, zone: str, name: str) -> CloudRequest | None:
        """Read one queued resource."""
        return self._call(lambda: self.cloud.get(zone, name))

    def list(self, zones: Sequence[str]) -> Listing:
        """List several zones."""
        return self._call(lambda: self.cloud.list(zones))

    def delete(self, zone: str, name: str) -> None:
        """Delete a queued resource."""
        self._call(lambda: self.cloud.delete(zone, name), is_effect=True)

    def find(self, zone: str, node: str) -> CloudRequest | None:
        """Read a node that others made."""
        return self._call(lambda: self.cloud.find(zone, node))

    def remove(self, zone: str, node: str, uid: str) -> None:
        """Delete a node that others made."""
        self._call(lambda: self.cloud.remove(zone, node, uid), is_effect=True)

    def ring(self, zone: str, node: str, value: str) -> None:
        """Set the bell."""
        self._call(lambda: self.cloud.ring(zone, node, value), is_effect=True)

    def _call(self, act: Callable[[], Answer], *, is_effect: bool = False) -> Answer:
        return self.calls.around(act, is_effect=is_effect, error=no_answer)
