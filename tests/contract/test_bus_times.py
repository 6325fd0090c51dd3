"""What the embedded Bus promises beyond the contract: exact times, and nothing twice."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shared.adapters.sqlite_bus import SqliteBus
from shared.ports import Delivery, Message
from shared.topology import (
    DEAD_LETTER_ATTEMPTS,
    DEAD_LETTER_PUBLISHED_AT,
    DEAD_LETTER_SUBSCRIPTION,
    DEAD_LETTER_TOPIC,
    Subscription,
)
from tests.fakes import FakeClock

START = datetime(2030, 1, 1, tzinfo=UTC)
WORK = Subscription("work", "tasks", 60, 10, 80, 5, "dead")
BURIED = Subscription("buried", "dead", 60, 10, 80, 5, None)


@pytest.fixture
def clock() -> FakeClock:
    """Give a clock that the test moves."""
    return FakeClock(START)


@pytest.fixture
def bus(tmp_path: Path, clock: FakeClock) -> Iterator[SqliteBus]:
    """Give the embedded bus, by that clock."""
    made = SqliteBus(tmp_path / "state.db", [WORK, BURIED], clock)
    yield made
    made.close()


def only(bus: SqliteBus, subscription: str = "work") -> Delivery:
    """Pull the one message that must be due."""
    [delivery] = bus.pull(subscription, limit=10)
    return delivery


def test_a_message_bears_the_time_of_its_publishing(bus: SqliteBus) -> None:
    """By the clock that the bus was given."""
    bus.publish("tasks", [Message(b"x")])

    assert START == only(bus).published_at


def test_a_leased_message_is_hidden_until_its_ack_deadline(
    bus: SqliteBus, clock: FakeClock
) -> None:
    """A handler that died gives its message back."""
    bus.publish("tasks", [Message(b"x")])
    first = only(bus)

    clock.advance(59)
    hidden = bus.pull("work")
    clock.advance(1)
    second = only(bus)

    assert [] == hidden
    assert (first.id, 2) == (second.id, second.attempt)
    assert first.published_at == second.published_at


def test_an_acknowledgement_after_the_lease_still_counts(bus: SqliteBus, clock: FakeClock) -> None:
    """The work is done, however long it took."""
    bus.publish("tasks", [Message(b"x")])
    late = only(bus)
    clock.advance(61)

    bus.ack(late)

    assert [] == bus.pull("work")


def test_a_retry_waits_twice_as_long_each_time(bus: SqliteBus, clock: FakeClock) -> None:
    """10, 20, 40, 80 seconds: exponential up to the maximum."""
    bus.publish("tasks", [Message(b"x")])
    delivery, waited = only(bus), []

    for _ in range(4):
        bus.retry(delivery)
        given_back = clock.now()
        while not (again := bus.pull("work")):
            clock.advance(1)
        [delivery] = again
        waited.append((clock.now() - given_back).total_seconds())

    assert [10, 20, 40, 80] == waited


def test_a_retry_can_name_its_time(bus: SqliteBus, clock: FakeClock) -> None:
    """What knows better when to try again says so."""
    bus.publish("tasks", [Message(b"x")])
    bus.retry(only(bus), after_s=3)

    clock.advance(2.9)
    early = bus.pull("work")
    clock.advance(0.1)

    assert [] == early
    assert 2 == only(bus).attempt


def test_a_retry_after_the_lease_leaves_the_new_holder_alone(
    bus: SqliteBus, clock: FakeClock
) -> None:
    """A zombie cannot give back what somebody else works on."""
    bus.publish("tasks", [Message(b"x")])
    zombie = only(bus)
    clock.advance(60)
    only(bus)

    bus.retry(zombie, after_s=0)

    assert [] == bus.pull("work")


def test_a_dead_letter_tells_everything(bus: SqliteBus, clock: FakeClock) -> None:
    """It keeps its content and says where it came from and how often it was tried."""
    bus.publish("tasks", [Message(b"poison", {"kind": "job"})])
    for _ in range(5):
        bus.retry(only(bus), after_s=0)

    dead = only(bus, "buried")

    assert [] == bus.pull("work")
    assert b"poison" == dead.message.data
    assert {
        "kind": "job",
        DEAD_LETTER_SUBSCRIPTION: "work",
        DEAD_LETTER_ATTEMPTS: "5",
        DEAD_LETTER_TOPIC: "tasks",
        DEAD_LETTER_PUBLISHED_AT: "2030-01-01T00:00:00.000000Z",
    } == dead.message.attributes
    assert clock.now() == dead.published_at


def test_a_message_that_kills_its_handlers_becomes_a_dead_letter(
    bus: SqliteBus, clock: FakeClock
) -> None:
    """Leases that run out are attempts as well."""
    bus.publish("tasks", [Message(b"poison")])
    for _ in range(5):
        only(bus)
        clock.advance(60)

    nothing = bus.pull("work")

    assert [] == nothing
    assert b"poison" == only(bus, "buried").message.data


def test_eight_consumers_share_without_doubles(bus: SqliteBus) -> None:
    """What one has leased no other one gets."""
    bus.publish("tasks", [Message(b"%d" % number) for number in range(80)])
    taken: list[bytes] = []

    def consume() -> None:
        while deliveries := bus.pull("work", limit=3):
            for delivery in deliveries:
                taken.append(delivery.message.data)
                bus.ack(delivery)

    threads = [threading.Thread(target=consume) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(b"%d" % number for number in range(80)) == sorted(taken)
