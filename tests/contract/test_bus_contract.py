"""What every Bus with an Inbox promises: at least once, in any order, perhaps late."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from shared.adapters.sqlite_bus import SqliteBus
from shared.errors import InvalidRequest
from shared.ports import Bus, Delivery, Inbox, Message
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
AUDIT = Subscription("audit", "tasks", 60, 10, 80, 5, "dead")
BURIED = Subscription("buried", "dead", 60, 10, 80, 5, None)


@pytest.fixture
def clock() -> FakeClock:
    """Give a clock that the test moves."""
    return FakeClock(START)


class PulledBus(Bus, Inbox, Protocol):
    """A bus that is published to and pulled from."""


@pytest.fixture(params=["sqlite"])
def bus(tmp_path: Path, clock: FakeClock) -> Iterator[PulledBus]:
    """Give a bus of every kind, with two subscriptions to one topic, and dead letters."""
    made = SqliteBus(tmp_path / "state.db", [WORK, AUDIT, BURIED], clock)
    yield made
    made.close()


def pulled(bus: PulledBus, subscription: str = "work", limit: int = 100) -> list[bytes]:
    """Pull and acknowledge; return what came."""
    deliveries = bus.pull(subscription, limit=limit)
    for delivery in deliveries:
        bus.ack(delivery)
    return [delivery.message.data for delivery in deliveries]


def only(bus: PulledBus, subscription: str = "work") -> Delivery:
    """Pull the one message that must be due."""
    [delivery] = bus.pull(subscription, limit=10)
    return delivery


def test_a_message_comes_as_it_was_published(bus: PulledBus) -> None:
    """Bytes, attributes, topic and time."""
    message = Message(bytes(range(256)), {"kind": "é", "empty": ""})

    bus.publish("tasks", [message])

    delivery = only(bus)
    assert message == delivery.message
    assert ("work", "tasks", 1) == (delivery.subscription, delivery.topic, delivery.attempt)
    assert START == delivery.published_at


def test_every_subscription_of_a_topic_gets_every_message(bus: PulledBus) -> None:
    """One acknowledges for itself alone."""
    bus.publish("tasks", [Message(b"1"), Message(b"2")])

    assert {b"1", b"2"} == set(pulled(bus, "work"))
    assert {b"1", b"2"} == set(pulled(bus, "audit"))


def test_nothing_published_is_nothing_pulled(bus: PulledBus) -> None:
    """An empty topic and an empty list of messages are no errors."""
    bus.publish("tasks", [])

    assert [] == bus.pull("work", limit=10)


def test_a_topic_that_nobody_receives_is_refused(bus: PulledBus) -> None:
    """A message into the void is a mistake."""
    with pytest.raises(InvalidRequest, match="nowhere"):
        bus.publish("nowhere", [Message(b"x")])


def test_pull_takes_no_more_than_its_limit(bus: PulledBus) -> None:
    """The rest stays due."""
    bus.publish("tasks", [Message(b"%d" % number) for number in range(5)])

    first, second = bus.pull("work", limit=3), bus.pull("work", limit=3)

    assert [3, 2] == [len(first), len(second)]
    assert 5 == len({delivery.id for delivery in first + second})


def test_a_leased_message_is_hidden_until_its_ack_deadline(
    bus: PulledBus, clock: FakeClock
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


def test_an_acknowledged_message_never_comes_again(bus: PulledBus, clock: FakeClock) -> None:
    """Acknowledging twice is as good as once."""
    bus.publish("tasks", [Message(b"x")])
    delivery = only(bus)

    bus.ack(delivery)
    bus.ack(delivery)
    clock.advance(3600)

    assert [] == bus.pull("work")


def test_an_acknowledgement_after_the_lease_still_counts(bus: PulledBus, clock: FakeClock) -> None:
    """The work is done, however long it took."""
    bus.publish("tasks", [Message(b"x")])
    late = only(bus)
    clock.advance(61)

    bus.ack(late)

    assert [] == bus.pull("work")


def test_a_retry_waits_twice_as_long_each_time(bus: PulledBus, clock: FakeClock) -> None:
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


def test_a_retry_can_name_its_time(bus: PulledBus, clock: FakeClock) -> None:
    """What knows better when to try again says so."""
    bus.publish("tasks", [Message(b"x")])
    bus.retry(only(bus), after_s=3)

    clock.advance(2.9)
    early = bus.pull("work")
    clock.advance(0.1)

    assert [] == early
    assert 2 == only(bus).attempt


def test_a_retry_after_the_lease_leaves_the_new_holder_alone(
    bus: PulledBus, clock: FakeClock
) -> None:
    """A zombie cannot give back what somebody else works on."""
    bus.publish("tasks", [Message(b"x")])
    zombie = only(bus)
    clock.advance(60)
    only(bus)

    bus.retry(zombie, after_s=0)

    assert [] == bus.pull("work")


def test_a_spent_message_becomes_a_dead_letter(bus: PulledBus, clock: FakeClock) -> None:
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
    bus: PulledBus, clock: FakeClock
) -> None:
    """Leases that run out are attempts as well."""
    bus.publish("tasks", [Message(b"poison")])
    for _ in range(5):
        only(bus)
        clock.advance(60)

    nothing = bus.pull("work")

    assert [] == nothing
    assert b"poison" == only(bus, "buried").message.data


def test_a_largest_message_can_still_be_buried(bus: PulledBus) -> None:
    """The attributes that a dead letter gains never make it poison itself."""
    bus.publish("tasks", [Message(b"x" * 9_999_998)])
    for _ in range(5):
        bus.retry(only(bus), after_s=0)

    assert 9_999_998 == len(only(bus, "buried").message.data)


def test_dead_letters_are_tried_for_ever(bus: PulledBus) -> None:
    """There is no second cemetery."""
    bus.publish("dead", [Message(b"x")])
    for _ in range(20):
        bus.retry(only(bus, "buried"), after_s=0)

    assert 21 == only(bus, "buried").attempt


def test_poison_blocks_nobody(bus: PulledBus) -> None:
    """Messages behind one that fails are delivered."""
    bus.publish("tasks", [Message(b"poison")])
    bus.retry(only(bus))
    bus.publish("tasks", [Message(b"good")])

    assert [b"good"] == pulled(bus)


def test_a_message_over_the_limit_refuses_the_whole_batch(bus: PulledBus) -> None:
    """All messages of a call or none."""
    with pytest.raises(InvalidRequest):
        bus.publish("tasks", [Message(b"x"), Message(b"x" * 10_000_001)])

    assert [] == bus.pull("work")


def test_eight_consumers_share_without_doubles(bus: PulledBus) -> None:
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
