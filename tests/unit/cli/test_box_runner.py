"""The runner of a box: reports come from the cloud, everything else from this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from pytest_mock import MockerFixture, MockType

from functions import runner
from functions.ticks import Ticks
from shared import settings as home_settings
from shared import wiring
from shared.adapters.sqlite_bus import SqliteBus
from shared.app import health_check, push
from shared.app.push import Answer
from shared.app.seal import Seal, break_seal, put_seal
from shared.core.policy import EMBEDDED
from shared.errors import NotAuthorized, Unavailable
from shared.ports import Delivery, Message
from shared.topology import Topic
from tests.installations import until
from tests.unit.cli.stage import PATIENCE_S, write

SETTINGS = 'wiring = "box"\n[cloud]\nproject = "lab-project"\nbucket = "lab-bucket"\n'
AT = datetime(2030, 1, 2, tzinfo=UTC)
REPORT = Delivery("r1", "box-reports", Topic.REPORTS, Message(b"snapshot"), AT, 1)


@dataclass
class Cloud:
    """The subscription in the cloud: what it gives, and what it is told."""

    gives: list[Delivery | Exception] = field(default_factory=list)
    told: list[tuple[str, Delivery]] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def pull(self, subscription: str, *, limit: int = 1) -> list[Delivery]:
        """Give one message, or nothing after a moment."""
        assert ("box-reports", runner.BATCH) == (subscription, limit)
        with self.changed:
            if not self.gives:
                self.changed.wait(0.02)
                return []
            found = self.gives.pop(0)
        if isinstance(found, Exception):
            raise found
        return [found]

    def ack(self, delivery: Delivery) -> None:
        """Hear that it is done."""
        self._hear("done", delivery)

    def retry(self, delivery: Delivery, *, after_s: float | None = None) -> None:
        """Hear that it shall come again."""
        self._hear(f"again after {after_s}", delivery)

    def until_told(self, count: int) -> list[tuple[str, Delivery]]:
        """Wait for answers."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.told) >= count, PATIENCE_S), self.told
        return self.told

    def _hear(self, what: str, delivery: Delivery) -> None:
        with self.changed:
            self.told.append((what, delivery))
            self.changed.notify_all()


@dataclass(frozen=True)
class Box:
    """A box that runs, and whom it asks."""

    cloud: Cloud
    local: SqliteBus
    receive: MockType
    tick: MockType


@pytest.fixture
def cloud() -> Cloud:
    """Have a subscription without messages."""
    return Cloud()


@pytest.fixture
def box(home: Path, cloud: Cloud, mocker: MockerFixture) -> Iterator[Box]:
    """Run a box in a thread."""
    write(home / "settings.toml", SETTINGS)
    mocker.patch.object(runner, "AGAIN_S", 0.01)
    settings = home_settings.load()
    store = wiring.open_local_store(settings)
    mocker.patch.object(
        wiring, "open_app", return_value=SimpleNamespace(policy=EMBEDDED, store=store)
    )
    mocker.patch.object(wiring, "open_report_inbox", return_value=cloud)
    receive = mocker.patch.object(push, "receive", return_value=Answer())
    tick = mocker.patch.object(health_check, "run")
    stop, local = threading.Event(), wiring.open_local_bus(settings)
    thread = threading.Thread(target=runner.run, args=(settings, "", stop, Ticks(stop)))
    thread.start()
    until((home / "runner.json").exists)
    yield Box(cloud, local, receive, tick)
    stop.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_report_of_the_cloud_reaches_its_function(box: Box) -> None:
    """Under the name that functions know; acknowledged under its own."""
    box.cloud.gives.append(REPORT)

    assert [("done", REPORT)] == box.cloud.until_told(1)
    (_, delivery) = box.receive.call_args.args
    assert ("report", b"snapshot") == (delivery.subscription, delivery.message.data)


def test_report_that_fails_comes_again_from_the_cloud(box: Box) -> None:
    """When its handler said."""
    box.receive.return_value = Answer(retry=True, retry_after_s=7.0)
    box.cloud.gives.append(REPORT)

    assert [("again after 7.0", REPORT)] == box.cloud.until_told(1)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Unavailable("no network"), id="unreachable"),
        pytest.param(NotAuthorized("roles/pubsub.subscriber is needed"), id="not allowed"),
    ],
)
def test_cloud_that_does_not_answer_is_asked_again(
    box: Box, trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """For minutes if need be; one line each time."""
    box.cloud.gives.extend([trouble, trouble, REPORT])

    box.cloud.until_told(1)

    assert str(trouble) in caplog.text
    assert "Traceback" not in caplog.text


def test_orders_come_from_this_machine(box: Box) -> None:
    """Nothing is asked of the cloud for them."""
    box.local.publish(Topic.COMMANDS, [Message(b"order")])

    until(lambda: box.receive.call_count)

    assert "launch-commands" == box.receive.call_args.args[1].subscription
    assert [] == box.cloud.told


def test_box_that_is_sealed_while_it_runs_handles_nothing_more(box: Box) -> None:
    """What it holds goes to whoever comes next."""
    store = wiring.open_local_store(home_settings.load())
    put_seal(store, Seal(AT, "ada", "its jobs move"))
    box.cloud.gives.append(REPORT)
    until(lambda: not box.cloud.gives)
    ticks = box.tick.call_count
    box.cloud.gives.append(REPORT)
    until(lambda: not box.cloud.gives)

    assert ([], 0) == (box.cloud.told, box.receive.call_count)
    assert box.tick.call_count <= ticks + 1, "the one that was under way"
    break_seal(store)
    box.cloud.gives.append(REPORT)
    box.cloud.until_told(1)
