"""What the bus in a file has beyond the contract: waiting, releasing, a clock that is set back."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.adapters.sqlite_bus import SqliteBus, backoff_s
from shared.ports import Message
from shared.topology import EMBEDDED_SUBSCRIPTIONS, SUBSCRIPTIONS, Subscription, Topic
from tests.fakes import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    """Give a clock that the test moves."""
    return FakeClock()


@pytest.fixture
def bus(tmp_path: Path, clock: FakeClock) -> Iterator[SqliteBus]:
    """Give the embedded bus."""
    made = SqliteBus(tmp_path / "state.db", EMBEDDED_SUBSCRIPTIONS, clock)
    yield made
    made.close()


def test_every_topic_has_a_receiver() -> None:
    """Otherwise its messages are lost."""
    assert set(Topic) == {subscription.topic for subscription in SUBSCRIPTIONS}


def test_dead_letters_without_a_receiver_are_a_mistake(tmp_path: Path) -> None:
    """A topic without a subscription loses messages."""
    with pytest.raises(AssertionError, match="nobody receives"):
        SqliteBus(tmp_path / "state.db", [Subscription("work", "tasks")])


@pytest.mark.parametrize("attempt,expected", [(1, 2), (2, 4), (9, 512), (10, 600), (9999, 600)])
def test_the_backoff_doubles_up_to_its_maximum(attempt: int, expected: float) -> None:
    """Google's defaults, without overflow."""
    assert expected == backoff_s(Subscription("work", "tasks"), attempt)


def test_wait_returns_at_once_when_a_message_is_due(bus: SqliteBus) -> None:
    """No poll is needed for what is there already."""
    bus.publish("launches", [Message(b"x")])

    assert bus.wait(["report", "launch"], timeout_s=60)


def test_wait_ends_at_its_timeout(bus: SqliteBus) -> None:
    """Nothing due is False; messages of other subscriptions do not count."""
    bus.publish("reports", [Message(b"x")])

    assert not bus.wait(["launch"], timeout_s=0.03)


def test_wait_hears_of_another_connection(bus: SqliteBus, tmp_path: Path) -> None:
    """A message published elsewhere wakes the waiting one long before its timeout."""
    other = SqliteBus(tmp_path / "state.db", EMBEDDED_SUBSCRIPTIONS)
    publisher = threading.Timer(0.05, other.publish, ("launches", [Message(b"x")]))
    started = time.monotonic()
    publisher.start()

    assert bus.wait(["launch"], timeout_s=60)
    assert time.monotonic() - started < 10
    publisher.join()
    other.close()


def test_release_makes_leased_messages_due(bus: SqliteBus) -> None:
    """A runner that starts after a crash does not wait for the leases of the dead one."""
    bus.publish("launches", [Message(b"x")])
    bus.pull("launch")

    bus.release()

    [again] = bus.pull("launch")
    assert 2 == again.attempt


def test_a_clock_that_is_set_back_hides_nothing_for_long(bus: SqliteBus, clock: FakeClock) -> None:
    """New messages are due at once, and leases from the future are no leases."""
    bus.publish("launches", [Message(b"leased")])
    bus.pull("launch")
    clock.advance(-24 * 3600)
    bus.publish("launches", [Message(b"new")])

    found = {delivery.message.data for delivery in bus.pull("launch", limit=10)}

    assert {b"leased", b"new"} == found


def test_the_backlog_counts_what_is_not_acknowledged(bus: SqliteBus) -> None:
    """Leased messages included."""
    bus.publish("launches", [Message(b"x"), Message(b"y")])
    bus.pull("launch")

    backlog = bus.backlog()

    assert 2 == backlog["launch"]
    assert 0 == backlog["report"]
