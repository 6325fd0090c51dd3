"""Worlds that cost little to copy: the real use cases, Store and Bus, over a file in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Self

from shared.adapters.sqlite_bus import SqliteBus
from shared.adapters.sqlite_file import StateFile
from shared.adapters.sqlite_schema import HEADER, TABLES, index_ddl
from shared.adapters.sqlite_store import SqliteStore
from shared.app.context import App
from shared.core.alert_kinds import AlertKind
from shared.core.alert_routes import Target, WebhookKind
from shared.ports import Bus, Delivery, Message, Store
from shared.topology import EMBEDDED_SUBSCRIPTIONS, INDEXES
from tests.agents import Host
from tests.crash.watch import Watch, WatchedBlobs, WatchedSlices, WatchedStore
from tests.fake_webhooks import FakeWebhooks
from tests.unit.app.world import CATALOG, DELIVERIES_MAX, World

# A webhook that is told all there is to tell, as whoever subscribes would be.
EVERYTHING = Target("all", WebhookKind.GENERIC, kinds=tuple(AlertKind))
NAMES = tuple(subscription.name for subscription in EMBEDDED_SUBSCRIPTIONS)


class MemoryFile(StateFile):
    """A state file that is nowhere on a disk, for one thread; a copy is one of its bytes."""

    def __init__(self, image: bytes | None = None) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        if image is not None:
            self.connection.deserialize(image)
            return
        self.connection.executescript(f"BEGIN; {TABLES} {HEADER} COMMIT;")
        for index in INDEXES:
            self.connection.execute(index_ddl(index))

    def copy(self) -> MemoryFile:
        """Make another one with the same contents."""
        return MemoryFile(self.connection.serialize())

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection."""
        yield self.connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection inside a transaction."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self.connection
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def close(self) -> None:
        """Forget everything."""
        self.connection.close()


class _Store(SqliteStore):
    def __init__(self, file: MemoryFile, world: World) -> None:
        self._file, self._clock = file, world.clock


class _Bus(SqliteBus):
    def __init__(self, file: MemoryFile, world: World) -> None:
        receivers: dict[str, list[object]] = {}
        for subscription in EMBEDDED_SUBSCRIPTIONS:
            receivers.setdefault(subscription.topic, []).append(subscription)
        self._subscriptions = {each.name: each for each in EMBEDDED_SUBSCRIPTIONS}
        self._receivers = receivers  # type: ignore[assignment]  # the same, by topic
        self._file, self._clock = file, world.clock


class CheapWorld(World):
    """A world in memory that watches over itself; a prepared one serves for many copies."""

    def __init__(self) -> None:
        self.file = MemoryFile()
        self.watch = Watch()
        self.webhooks = FakeWebhooks(EVERYTHING)
        super().__init__(Path())

    def open(self) -> None:
        """Put everything together on the file that is there."""
        self.store, self.bus = _Store(self.file, self), _Bus(self.file, self)
        self.app = self.make_app(self.store, self.bus)

    def make_app(self, store: Store, bus: Bus) -> App:
        """Put the control plane together, on ports that are watched."""
        app = super().make_app(WatchedStore(store, self.watch), bus)
        slices = WatchedSlices(self.slices, store, self.watch)
        blobs = WatchedBlobs(self.blobs, self.watch)
        return replace(app, webhooks=self.webhooks, slices=slices, blobs=blobs)

    def copy(self) -> Self:
        """Make a world of its own that is at the same point."""
        new = object.__new__(type(self))
        left_out = ("file", "store", "bus", "app")
        kept = {key: value for key, value in vars(self).items() if key not in left_out}
        same = (CATALOG, self.policy, self.blobs._lock)
        new.__dict__ = deepcopy(kept, {id(each): each for each in same})
        new.file = self.file.copy()
        new.open()
        return new

    # --- Some messages and not others -----------------------------------------------------------

    def drain_but(self, held: str) -> None:
        """Deliver what is due to everybody but one, until nobody else has anything to do."""
        for _ in range(DELIVERIES_MAX):
            acted = self.farm.act(self.bus)
            due = [each for name in NAMES if name != held for each in self.pending(name)]
            for delivery in due:
                self.deliver(delivery)
            if not due and not acted:
                return
        raise AssertionError("the messages do not come to an end")

    def pending(self, subscription: str) -> list[Delivery]:
        """Take everything that one subscription has to deliver."""
        return self.bus.pull(subscription, limit=50)

    def pass_on(self, subscription: str) -> None:
        """Deliver what is due to one, and let nobody else hear of it yet."""
        for delivery in self.pending(subscription):
            self.deliver(delivery)

    def say(self, topic: str, *messages: Message) -> None:
        """Publish, and let nobody hear it yet."""
        self.bus.publish(topic, list(messages))


def fingerprint(world: CheapWorld) -> str:
    """Say all that a world is, without what has no meaning: tokens, and the ids of messages.

    Two worlds with the same fingerprint go on in the same way.
    """
    documents = "SELECT path, fields, updated_us FROM documents ORDER BY path"
    messages = "SELECT subscription, due_us, attempt, data, attributes FROM deliveries ORDER BY id"
    cloud, hosts = world.slices, world.farm._hosts
    told = world.webhooks.posted
    parts = (
        world.clock.now(),
        *world.file.connection.execute(documents),
        *world.file.connection.execute(messages),
        *[(held.shown, held.operation) for held in cloud._held.values()],
        *[(held.shown, held.operation) for held in cloud._coming.values()],
        *cloud.others.values(),
        (cloud._operations, cloud._made, cloud.bells, world.gives, told),
        *[(blob.name, blob.data) for blob in world.blobs._objects.values()],
        *[sorted(_told(host).items()) for each in hosts.values() for host in each],
    )
    return sha256(repr(parts).encode()).hexdigest()


def _told(host: Host) -> dict[str, object]:
    return {key: value for key, value in vars(host).items() if key != "_around"}
