"""The local runner hands every delivery over once, and survives whatever a handler does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from pytest_mock import MockerFixture

from functions import runner
from functions.ticks import Ticks
from shared import wiring
from shared.adapters.sqlite_bus import SqliteBus
from shared.app import health_check, push
from shared.app.push import Answer
from shared.core.policy import EMBEDDED, Policy
from shared.ports import Delivery, Message
from shared.topology import Topic
from tests.unit.cli.stage import PATIENCE_S, Installed


@dataclass
class Served:
    """A runner whose functions are ours."""

    bus: SqliteBus
    pauses: Ticks = field(default_factory=lambda: Ticks(threading.Event()))
    answers: Callable[[Delivery], Answer] = field(default=lambda _: Answer())
    got: list[tuple[str, bytes, int]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    ticks: int = 0
    tick: Callable[[], None] = field(default=lambda: None)

    def receive(self, _: object, delivery: Delivery) -> Answer:
        """Take the place of push."""
        with self.changed:
            self.got.append((delivery.subscription, delivery.message.data, delivery.attempt))
            self.changed.notify_all()
        return self.answers(delivery)

    def run(self, _: object) -> None:
        """Take the place of the tick."""
        with self.changed:
            self.ticks += 1
            self.changed.notify_all()
        self.tick()

    def until(self, claim: Callable[[], bool]) -> None:
        """Wait until a claim is true."""
        with self.changed:
            assert self.changed.wait_for(claim, PATIENCE_S), self.got

    def publish(self, topic: Topic, *texts: bytes) -> None:
        """Publish messages."""
        self.bus.publish(topic, [Message(text) for text in texts])


@pytest.fixture
def policy() -> Policy:
    """Tick often."""
    return EMBEDDED


@pytest.fixture
def served(installed: Installed, mocker: MockerFixture, policy: Policy) -> Iterator[Served]:
    """Run a runner in a thread."""
    found = Served(installed.bus)
    mocker.patch.object(wiring, "open_app", return_value=SimpleNamespace(policy=policy))
    mocker.patch.object(push, "receive", side_effect=found.receive)
    mocker.patch.object(health_check, "run", side_effect=found.run)
    stop = threading.Event()
    found.pauses = Ticks(stop)
    arguments: tuple[Any, ...] = (installed.settings, "http://127.0.0.1:9", stop, found.pauses)
    thread = threading.Thread(target=runner.run, args=arguments)
    thread.start()
    yield found
    stop.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert not (installed.home / "runner.json").exists()
    assert "health_check" not in {each.name for each in threading.enumerate()}


def test_every_subscription_is_served(served: Served) -> None:
    """Each topic reaches its function."""
    for topic in Topic:
        served.publish(topic, topic.encode())

    served.until(lambda: len(served.got) == len(Topic))

    assert {
        ("launch-commands", b"commands", 1),
        ("launch", b"launches", 1),
        ("recovery", b"preemptions", 1),
        ("report", b"reports", 1),
        ("report-audit", b"audit", 1),
        ("alert", b"alerts", 1),
        ("park", b"dead-letters", 1),
    } == set(served.got)


def test_what_is_done_is_acknowledged(served: Served) -> None:
    """It never comes again."""
    served.publish(Topic.LAUNCHES, b"1", b"2", b"3")

    served.until(lambda: len(served.got) == 3)
    served.publish(Topic.ALERTS, b"4")
    served.until(lambda: len(served.got) == 4)

    assert [b"1", b"2", b"3", b"4"] == sorted(data for _, data, _ in served.got)


def test_what_is_to_be_retried_comes_again_when_it_said(served: Served) -> None:
    """After the handler's time, or the subscription's own backoff."""
    served.answers = lambda delivery: (
        Answer(retry=True, retry_after_s=0.0)
        if delivery.attempt == 1
        else Answer(retry=delivery.attempt == 2)
    )

    served.publish(Topic.LAUNCHES, b"1")
    served.until(lambda: len(served.got) == 3)

    assert [1, 2, 3] == [attempt for _, _, attempt in served.got]


def test_handler_that_raises_does_not_end_the_runner(served: Served) -> None:
    """The next message is handled, by the same function."""

    def fail(delivery: Delivery) -> Answer:
        if delivery.message.data == b"bad":
            raise ZeroDivisionError
        return Answer()

    served.answers = fail
    served.publish(Topic.LAUNCHES, b"bad")
    served.until(lambda: len(served.got) == 1)
    served.publish(Topic.LAUNCHES, b"good")

    served.until(lambda: ("launch", b"good", 1) in served.got)


def test_tick_that_raises_is_followed_by_the_next(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged with its trace."""

    def fail() -> None:
        raise ZeroDivisionError

    served.tick = fail
    served.until(lambda: served.ticks >= 3)

    assert "ZeroDivisionError" in caplog.text


def test_leases_of_an_earlier_life_are_released(
    installed: Installed, request: pytest.FixtureRequest
) -> None:
    """What a killed runner had in its hands is due at once."""
    installed.bus.publish(Topic.LAUNCHES, [Message(b"1")])
    assert 1 == len(installed.bus.pull("launch"))

    served: Served = request.getfixturevalue("served")

    served.until(lambda: ("launch", b"1", 2) in served.got)


@pytest.mark.parametrize("policy", [replace(EMBEDDED, tick_s=3600.0)], ids=["one tick an hour"])
def test_poke_is_answered_by_a_tick_before_its_time(served: Served) -> None:
    """However long the pause is."""
    served.until(lambda: served.ticks == 1)

    served.pauses.poke()

    served.until(lambda: served.ticks == 2)
