"""`tpuctl poke --wait`: what counts as a new tick, and what is said when none comes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pytest_mock import MockerFixture

from cli.commands import poke as command
from shared.errors import NotAuthorized
from shared.ports import TickAttempt
from tests.unit.cli.poked import FakeTicker, Woken, ticked, ticked_elsewhere
from tests.unit.cli.stage import Installed, Tpuctl, ago, now


@pytest.fixture
def impatient(mocker: MockerFixture) -> None:
    """Wait for what does not come."""
    mocker.patch.object(command, "WAIT_S", 0.3)


def test_wait_returns_when_a_tick_has_begun(
    tpuctl: Tpuctl, installed: Installed, woken: Woken
) -> None:
    """Another one than before."""
    installed.pretend_up()
    ticked(installed, ago(30))
    at = now().replace(microsecond=0)
    woken.then = lambda: ticked_elsewhere(at)

    result = tpuctl("poke", "--wait")

    assert 0 == result.code, result.err
    assert f"\na tick began at {at.astimezone():%H:%M:%S}\nnext: tpuctl ps\n" in result.out


def test_wait_sees_the_first_tick_of_all(
    tpuctl: Tpuctl, ticker: FakeTicker, installed: Installed
) -> None:
    """There was none to tell it from."""
    ticker.then = lambda: ticked(installed, now())

    result = tpuctl("poke", "--wait")

    assert 0 == result.code, result.err


@pytest.mark.usefixtures("impatient")
def test_a_tick_that_writes_twice_is_no_new_one(
    tpuctl: Tpuctl, ticker: FakeTicker, installed: Installed
) -> None:
    """One that ran out of time notes where the next one goes on."""
    at = ago(30)
    ticked(installed, at)
    ticker.then = lambda: ticked(installed, at, after="a-slice")

    result = tpuctl("poke", "--wait")

    assert 4 == result.code
    assert "no tick began within 0.3 s; the last tick began 30s ago" == result.error


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "attempt, told",
    [
        pytest.param(
            TickAttempt(datetime(2030, 1, 2, tzinfo=UTC), "PERMISSION_DENIED"),
            "; Cloud Scheduler's last call of it ended with PERMISSION_DENIED",
            id="it failed",
        ),
        pytest.param(TickAttempt(datetime(2030, 1, 2, tzinfo=UTC), ""), "", id="it went well"),
        pytest.param(None, "", id="there was none"),
        pytest.param(NotAuthorized("no right to look"), "", id="nobody may look"),
    ],
)
def test_the_scheduler_says_why_no_tick_came(
    tpuctl: Tpuctl, ticker: FakeTicker, attempt: TickAttempt | None, told: str
) -> None:
    """As far as it knows, and whoever asks may know."""
    ticker.attempt = attempt

    result = tpuctl("poke", "--wait")

    assert (4, 1) == (result.code, ticker.fired)
    assert f"no tick began within 0.3 s; no tick has begun yet{told}" == result.error
    assert "the logs of health_check say more: docs/deploy.md" == result.next_step


@pytest.mark.usefixtures("impatient")
def test_a_runner_that_does_not_tick_is_sent_to_its_log(
    tpuctl: Tpuctl, installed: Installed, woken: Woken
) -> None:
    """It was woken, and that did not help."""
    installed.pretend_up()

    result = tpuctl("poke", "--wait")

    assert (4, 1) == (result.code, woken.count)
    assert f"read {installed.home / 'runner.log'}" == result.next_step
