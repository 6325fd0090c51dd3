"""Whoever uses the cloud sees it as it is now, also after a long time in which nobody did."""

import threading
from typing import Any, cast

import pytest
from pytest_mock import MockerFixture

from sandbox.cloud import Cloud
from sandbox.engine import Engine
from sandbox.fleet import Fleet
from sandbox.resources import QueuedState
from tests.clouds import BOOTED_AT, LOCATION, active_cloud, ask, make_cloud, queued_name


def engine_at(cloud: Cloud, seconds: float) -> Engine:
    """Own a cloud at a moment; nothing drives it."""
    return Engine(cloud, clock=lambda: seconds)


def test_time_does_not_stand_still_while_nobody_asks() -> None:
    """What is asked for after a pause takes its time from then on."""
    engine = engine_at(make_cloud(), 1_000.0)

    with engine.cloud() as cloud:
        operation = ask(cloud, "a")
        assert 1_000.0 == cloud.operations[operation].created_at


def test_what_is_due_has_happened_before_anybody_looks() -> None:
    """Even if nobody else was there to let it happen."""
    made = make_cloud()
    ask(made, "a")

    with engine_at(made, BOOTED_AT).cloud() as cloud:
        assert QueuedState.ACTIVE is cloud.queued_resource(queued_name("a")).state


def test_cloud_does_not_change_between_two_lines_of_one_user() -> None:
    """Also if one of them asks for it again."""
    times = iter([10.0, 1_000.0])
    engine = Engine(active_cloud(), clock=lambda: next(times))

    with engine.cloud() as cloud:
        before = cloud.ledger.now
        with engine.cloud() as same:
            assert before == same.ledger.now


def test_what_fails_when_it_is_due_does_not_reach_who_asks(mocker: MockerFixture) -> None:
    """It is written down; the next user gets an answer as well."""
    cloud = active_cloud()
    mocker.patch.object(cloud, "advance", side_effect=ValueError("broken"))
    engine = engine_at(cloud, 1_000.0)

    for _ in range(2):
        with engine.cloud() as given:
            assert f"{LOCATION}/nodes/a" in given.nodes


@pytest.mark.parametrize("at", [1e12, 9e18])
def test_what_is_due_in_centuries_does_not_end_the_ticker(mocker: MockerFixture, at: float) -> None:
    """No wait of a thread is that long."""
    cloud = make_cloud()
    cloud.ledger.timers.set(at, "operation-failed", "x", "[]")
    engine = engine_at(cloud, 0.0)
    fleet = mocker.create_autospec(Fleet, instance=True)
    ticked = threading.Semaphore(0)
    fleet.boot.side_effect = lambda _: ticked.release()
    engine.run(cast("Any", fleet))

    for _ in range(3):
        assert ticked.acquire(timeout=30.0)
        with engine.cloud():
            pass

    engine.stop()
