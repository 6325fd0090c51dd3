"""What lasts is told, again while it lasts, and once when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from shared.core.policy import Policy
from shared.core.troubles import Troubles, follow

START = datetime(2030, 1, 1, tzinfo=UTC)
POLICY = Policy(degraded_s=300.0, degraded_again_s=3600.0)
LISTING = {"listing": "us-east1-d: no answer"}


def ticks(*seen: tuple[float, Mapping[str, str]]) -> tuple[Troubles, list[tuple[str, float]]]:
    """Let ticks meet things at some seconds; return what is known and what was told when."""
    known, told = Troubles(), []
    for seconds, troubles in seen:
        at = START + timedelta(seconds=seconds)
        known, alerts = follow(known, troubles, at, POLICY)
        told += [(alert.kind, seconds) for alert in alerts]
    return known, told


def test_one_tick_that_fails_is_no_news() -> None:
    """Nor are four minutes of them."""
    assert [] == ticks((0, LISTING), (240, LISTING), (299, {}), (300, LISTING), (500, LISTING))[1]


def test_what_lasts_is_told_once_and_again_an_hour_later() -> None:
    """With what it is and for how long."""
    every_minute = [(60.0 * minute, LISTING) for minute in range(80)]

    _, told = ticks(*every_minute)
    _, (alert,) = follow(ticks((0, LISTING))[0], LISTING, START + timedelta(minutes=7), POLICY)

    assert [("control_plane_degraded", 300.0), ("control_plane_degraded", 3900.0)] == told
    assert ("us-east1-d: no answer (for 7 min)", "listing") == (alert.text, alert.reason)


def test_a_sentence_that_changes_is_the_same_trouble() -> None:
    """Another zone, another number: it still does not work."""
    _, told = ticks((0, LISTING), (200, {"listing": "other words"}), (300, LISTING))

    assert 1 == len(told)


def test_what_was_told_is_taken_back_when_it_works_again() -> None:
    """What was not told is not taken back."""
    _, told = ticks((0, LISTING), (300, LISTING), (360, {}), (420, {}))

    assert [("control_plane_degraded", 300), ("control_plane_restored", 360)] == told


def test_two_troubles_are_two() -> None:
    """Each has its own time."""
    both = {**LISTING, "reports": "silence"}

    known, told = ticks((0, LISTING), (200, both), (300, both), (500, both))

    assert [300, 500] == [seconds for _, seconds in told]
    assert "listing since 2030-01-01 00:00 UTC; reports since 2030-01-01 00:03 UTC" == known.summary


def test_alerts_of_the_same_trouble_have_ids_of_their_own() -> None:
    """Or the second one would be taken for a copy."""
    known, first = follow(ticks((0, LISTING))[0], LISTING, START + timedelta(hours=1), POLICY)
    _, second = follow(known, LISTING, START + timedelta(hours=2), POLICY)

    assert first[0].id != second[0].id


def test_nothing_known_is_well() -> None:
    """So the document says."""
    assert "all is well" == ticks((0, LISTING), (60, {}))[0].summary
