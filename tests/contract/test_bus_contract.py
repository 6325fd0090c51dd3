"""What every Bus with an Inbox promises: at least once, in any order, perhaps late."""

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from shared.errors import InvalidRequest
from shared.ports import Message
from shared.topology import (
    DEAD_LETTER_ATTEMPTS,
    DEAD_LETTER_PUBLISHED_AT,
    DEAD_LETTER_SUBSCRIPTION,
)
from tests import buses
from tests.buses import PulledBus, come
from tests.installations import until

# Google's clock and ours are one here, and what it tells ends with milliseconds.
CLOCK_S = timedelta(seconds=1)


@pytest.fixture(params=["sqlite", "pubsub"])
def bus(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PulledBus]:
    """Give a bus of every kind, with two subscriptions to one topic, and dead letters."""
    if request.param == "sqlite":
        with buses.sqlite(tmp_path) as made:
            yield made
    else:
        project = request.getfixturevalue("cloud_project")
        yield buses.emulated(project, request.getfixturevalue("emulators").pubsub)


def messages(count: int) -> list[Message]:
    """Make messages that differ."""
    return [Message(b"%d" % number) for number in range(count)]


def spend(bus: PulledBus, subscription: str = "work") -> None:
    """Use up all attempts of the one message that is due."""
    for attempt in range(1, 6):
        [delivery] = come(bus, subscription)
        assert attempt == delivery.attempt
        bus.retry(delivery, after_s=0)
    # The emulator buries a spent message when it is asked for it.
    assert [] == bus.pull(subscription)


def run_at_once(work: Callable[[int], None]) -> None:
    """Let eight threads do it."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_message_comes_as_it_was_published(bus: PulledBus) -> None:
    """Bytes, attributes, topic and time."""
    message = Message(bytes(range(256)), {"kind": "é", "empty": ""})
    begun = datetime.now(UTC)

    bus.publish("tasks", [message])

    [delivery] = come(bus, "work")
    assert message == delivery.message
    assert ("work", "tasks", 1) == (delivery.subscription, delivery.topic, delivery.attempt)
    assert begun - CLOCK_S <= delivery.published_at <= datetime.now(UTC) + CLOCK_S
    assert UTC == delivery.published_at.tzinfo


def test_every_subscription_of_a_topic_gets_every_message(bus: PulledBus) -> None:
    """One acknowledges for itself alone."""
    bus.publish("tasks", messages(2))

    for subscription in ("work", "audit"):
        deliveries = come(bus, subscription, 2)
        for delivery in deliveries:
            bus.ack(delivery)
        assert {b"0", b"1"} == {delivery.message.data for delivery in deliveries}


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
    bus.publish("tasks", messages(5))

    first = bus.pull("work", limit=3)
    rest = come(bus, "work", 5 - len(first))

    assert 1 <= len(first) <= 3
    assert 5 == len({delivery.id for delivery in (*first, *rest)})


def test_a_leased_message_is_hidden(bus: PulledBus) -> None:
    """Nobody else works on it meanwhile."""
    bus.publish("tasks", [Message(b"x")])
    come(bus, "work")

    assert [] == bus.pull("work")


def test_an_acknowledged_message_never_comes_again(bus: PulledBus) -> None:
    """Not even given back; acknowledging twice is as good as once."""
    bus.publish("tasks", [Message(b"x")])
    [delivery] = come(bus, "work")

    bus.ack(delivery)
    bus.ack(delivery)
    bus.retry(delivery, after_s=0)

    assert [] == bus.pull("work")


def test_what_is_given_back_comes_again(bus: PulledBus) -> None:
    """The same message, on its second attempt."""
    bus.publish("tasks", [Message(b"x", {"kind": "job"})])
    [first] = come(bus, "work")

    bus.retry(first)

    [second] = come(bus, "work")
    assert (first.id, first.message, 2) == (second.id, second.message, second.attempt)
    assert first.published_at == second.published_at


@pytest.mark.slow
def test_a_retry_comes_never_before_the_time_it_named(bus: PulledBus) -> None:
    """What knows better when to try again says so."""
    bus.publish("tasks", [Message(b"x")])
    [delivery] = come(bus, "work")
    given_back = time.monotonic()

    bus.retry(delivery, after_s=1.3)

    come(bus, "work")
    assert 1.3 <= time.monotonic() - given_back


def test_a_retry_of_an_older_lease_leaves_the_new_holder_alone(bus: PulledBus) -> None:
    """A zombie cannot give back what somebody else works on."""
    bus.publish("tasks", [Message(b"x")])
    [zombie] = come(bus, "work")
    bus.retry(zombie, after_s=0)
    [holder] = come(bus, "work")

    bus.retry(zombie, after_s=0)

    assert [] == bus.pull("work")
    bus.retry(holder, after_s=0)
    assert 3 == come(bus, "work")[0].attempt


def test_a_spent_message_becomes_a_dead_letter(bus: PulledBus) -> None:
    """It keeps its content and says where it came from and how often it was tried."""
    bus.publish("tasks", [Message(b"poison", {"kind": "job"})])
    published_at = come(bus, "audit")[0].published_at
    spend(bus)

    [dead] = come(bus, "buried")

    assert b"poison" == dead.message.data
    told = dead.message.attributes
    assert ("job", "5") == (told["kind"], told[DEAD_LETTER_ATTEMPTS])
    assert told[DEAD_LETTER_SUBSCRIPTION] in {"work", f"{buses.PREFIX}-work"}
    assert published_at == datetime.fromisoformat(told[DEAD_LETTER_PUBLISHED_AT])
    assert ("dead", 1) == (dead.topic, dead.attempt)


def test_a_largest_message_can_still_be_buried(bus: PulledBus) -> None:
    """The attributes that a dead letter gains never make it poison itself."""
    bus.publish("tasks", [Message(b"x" * 9_999_998)])
    spend(bus)

    [dead] = come(bus, "buried")

    assert 9_999_998 == len(dead.message.data)


def test_dead_letters_are_tried_for_ever(bus: PulledBus) -> None:
    """There is no second cemetery."""
    bus.publish("dead", [Message(b"x")])

    for _ in range(20):
        [delivery] = come(bus, "buried")
        bus.retry(delivery, after_s=0)

    assert delivery.id == come(bus, "buried")[0].id


def test_poison_blocks_nobody(bus: PulledBus) -> None:
    """Messages behind one that fails are delivered."""
    bus.publish("tasks", [Message(b"poison")])
    [poison] = come(bus, "work")
    bus.retry(poison, after_s=0)

    bus.publish("tasks", [Message(b"good")])

    come_by = {delivery.message.data for delivery in come(bus, "work", 2)}
    assert {b"poison", b"good"} == come_by


def test_a_message_over_the_limit_refuses_the_whole_call(bus: PulledBus) -> None:
    """All messages of a call or none."""
    with pytest.raises(InvalidRequest, match="a message has 1000000"):
        bus.publish("tasks", [Message(b"x"), Message(b"x" * 10_000_001)])

    assert [] == bus.pull("work")


def test_a_call_may_have_more_messages_than_google_takes_at_once(bus: PulledBus) -> None:
    """A thousand, and ten megabytes."""
    sent = [*messages(1200), *(Message(b"%d" % number * 4_000_000) for number in range(3))]
    bus.publish("tasks", sent)
    found: set[bytes] = set()

    def is_all() -> bool:
        for delivery in bus.pull("work", limit=1000):
            found.add(delivery.message.data)
        return len(found) == len(sent)

    until(is_all)
    assert {message.data for message in sent} == found


def test_eight_publishers_at_once_lose_nothing(bus: PulledBus) -> None:
    """Whoever returned was heard."""

    def publish(number: int) -> None:
        for each in range(10):
            bus.publish("tasks", [Message(b"%d-%d" % (number, each))])

    run_at_once(publish)

    found = {delivery.message.data for delivery in come(bus, "work", 80)}
    assert {b"%d-%d" % (number, each) for number in range(8) for each in range(10)} == found


def test_eight_consumers_leave_nothing(bus: PulledBus) -> None:
    """What one has leased the others do not wait for."""
    bus.publish("tasks", messages(80))
    taken: set[bytes] = set()

    def consume(_: int) -> None:
        while deliveries := bus.pull("work", limit=3):
            for delivery in deliveries:
                taken.add(delivery.message.data)
                bus.ack(delivery)

    run_at_once(consume)

    assert {message.data for message in messages(80)} == taken
