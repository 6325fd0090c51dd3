"""A look counts when it began after the last one: functions go on after their time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.app.observing import Look, observation
from shared.core.situation import Situation
from tests.unit.core.facts import request
from tests.unit.core.situations import bid_of, later, running, with_bid

NOW = later(running(), 600.0)
LAST = NOW.now - timedelta(seconds=60.0)


def looked(now: Situation, look: Look, after_s: float) -> Situation:
    """Take in a look that began some seconds after the last one."""
    return observation({bid_of(now).name: look}, LAST + timedelta(seconds=after_s))(now)


@pytest.mark.parametrize(
    "last",
    [
        pytest.param({"observed_at": LAST}, id="it was seen"),
        pytest.param(
            {"observed_at": None, "absent_at": LAST, "absent_again_at": LAST}, id="it was missing"
        ),
    ],
)
@pytest.mark.parametrize(
    "look", [pytest.param(None, id="missing"), pytest.param(request("SUSPENDED"), id="suspended")]
)
def test_an_older_look_changes_nothing(last: dict[str, object], look: Look) -> None:
    """Whoever looked before that and says so now is late."""
    now = with_bid(NOW, **last)

    assert now == looked(now, look, -1.0)
    assert now == looked(now, look, 0.0)
    assert now != looked(now, look, 1.0)


def test_a_look_from_before_the_bid_was_decided_changes_nothing() -> None:
    """Nothing of it can be seen yet: that is no absence."""
    now = with_bid(NOW, observed_at=None)
    early = bid_of(now).intended_at - timedelta(seconds=1.0)

    assert now == observation({bid_of(now).name: None}, early)(now)


def test_a_missing_bid_is_not_missing_since_an_older_look() -> None:
    """Two absences prove something by the time between them, which only grows."""
    missing = looked(with_bid(NOW, observed_at=None), None, 0.0)
    again = looked(looked(missing, None, 40.0), None, 20.0)

    assert replace(bid_of(missing), absent_again_at=LAST + timedelta(seconds=40.0)) == bid_of(again)
