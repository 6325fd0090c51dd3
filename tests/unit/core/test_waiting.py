"""A job that waits for too long is told once a wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shared.core.alerts import alerts_of
from shared.core.decide import decide
from shared.core.situation import Situation
from tests.unit.core.situations import (
    claimed,
    failed,
    later,
    recovering,
    running,
    settled,
    stopping,
    submitted,
)

STUCK_S = submitted().policy.stuck_s
WAITING = [
    pytest.param(lambda: settled(submitted()), "provisioning", id="for a first slice"),
    pytest.param(recovering, "recovering", id="for another slice"),
    pytest.param(stopping, "stopping", id="for the end of its last attempt"),
]


def stuck(now: Situation) -> list[str]:
    """Decide, and return what is told of being stuck."""
    return [alert.text for alert in alerts_of(decide(now)) if alert.kind == "stuck"]


@pytest.mark.parametrize("make, stage", WAITING)
def test_a_job_that_waits_for_too_long_is_stuck(make: Callable[[], Situation], stage: str) -> None:
    """With what it waits for; not a second early."""
    now = make()
    assert now.served.stage_since is not None
    left_s = STUCK_S - now.since(now.served.stage_since)

    (text,) = stuck(later(now, left_s))

    assert [] == stuck(later(now, left_s - 1))
    assert text.startswith(f"{stage} for 60 min: ")


def test_it_is_told_once_a_wait() -> None:
    """And again for the next one."""
    told = decide(later(recovering(), STUCK_S))
    again = decide(later(told, STUCK_S))

    assert ["stuck"] == [alert.kind for alert in alerts_of(told)]
    assert [] == [alert.kind for alert in alerts_of(again)]
    assert [] != stuck(later(claimed(settled(again)), STUCK_S))


def test_somebody_looks_when_the_time_is_up() -> None:
    """Even when nothing else is due."""
    now = settled(submitted())
    due_at = decide(now).slice.due_at
    assert now.served.stage_since is not None
    assert due_at is not None

    assert now.since(due_at) <= 0
    assert (due_at - now.served.stage_since).total_seconds() <= STUCK_S


@pytest.mark.parametrize("make", [running, failed])
def test_what_runs_or_is_over_is_not_stuck(make: Callable[[], Situation]) -> None:
    """How long a program takes is its own affair."""
    assert [] == stuck(later(make(), 100 * STUCK_S))
