"""A Bus of every kind with its Inbox, for the contract suite: two subscriptions, dead letters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from shared.adapters import pubsub, pubsub_setup
from shared.adapters.sqlite_bus import SqliteBus
from shared.ports import Bus, Delivery, Inbox, Message
from shared.topology import Subscription
from tests.installations import until

# What failed comes again at once; five attempts are the fewest that Google allows.
WORK: Final = Subscription("work", "tasks", 60, 0, 0, 5, "dead")
AUDIT: Final = Subscription("audit", "tasks", 60, 0, 0, 5, "dead")
BURIED: Final = Subscription("buried", "dead", 60, 0, 0, 5, None)
SUBSCRIPTIONS: Final = (WORK, AUDIT, BURIED)
PREFIX: Final = "suite"
# Enough for the emulator to answer that there is nothing.
PULL_S: Final = 1.5


class PulledBus(Bus, Inbox, Protocol):
    """A bus that is published to and pulled from."""


@dataclass(frozen=True, slots=True)
class GooglePulledBus:
    """Both halves of Pub/Sub."""

    bus: pubsub.GoogleBus
    inbox: pubsub.GoogleInbox

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Hand over all messages."""
        self.bus.publish(topic, messages)

    def pull(self, subscription: str, *, limit: int = 1) -> list[Delivery]:
        """Lease some messages."""
        return self.inbox.pull(subscription, limit=limit)

    def ack(self, delivery: Delivery) -> None:
        """Forget one."""
        self.inbox.ack(delivery)

    def retry(self, delivery: Delivery, *, after_s: float | None = None) -> None:
        """Give one back."""
        self.inbox.retry(delivery, after_s=after_s)


@contextmanager
def sqlite(folder: Path) -> Iterator[PulledBus]:
    """Give the bus in a file."""
    made = SqliteBus(folder / "state.db", SUBSCRIPTIONS)
    yield made
    made.close()


def emulated(project: str, emulator: str) -> PulledBus:
    """Give Pub/Sub, in a project that nobody else uses."""
    pubsub_setup.declare(project, PREFIX, SUBSCRIPTIONS, emulator=emulator)
    return GooglePulledBus(
        pubsub.connect(project, PREFIX, emulator=emulator),
        pubsub.connect_inbox(project, PREFIX, SUBSCRIPTIONS, emulator=emulator, wait_s=PULL_S),
    )


def come(bus: PulledBus, subscription: str, count: int = 1) -> list[Delivery]:
    """Pull until so many have come; more than that are an error."""
    found: list[Delivery] = []

    def enough() -> bool:
        found.extend(bus.pull(subscription, limit=count + 1))
        return len(found) >= count

    until(enough)
    assert count == len(found), [delivery.message.data for delivery in found]
    return found
