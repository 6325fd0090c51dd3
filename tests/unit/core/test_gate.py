"""Whose turn it is to ask the cloud, and what stops everybody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shared.core import gate as rules
from shared.core.gate import EVERYBODY, Gate, turn_of
from shared.core.grants import Need
from shared.core.policy import Policy

NOON = datetime(2035, 1, 31, 12, tzinfo=UTC)
POLICY = Policy()
ZONE = "us-central2-b"


def after(seconds: float) -> datetime:
    """A time after noon."""
    return NOON + timedelta(seconds=seconds)


def need(chips: int = 8, accelerator: str = "v4", tier: str = "spot") -> Need:
    """So many chips of v4."""
    return Need(f"{accelerator}-{2 * chips}", accelerator, tier, chips)


def test_turns_go_by_priority_then_by_age_then_by_name() -> None:
    """As the texts sort."""
    expected = [
        turn_of(100, after(60), "z"),
        turn_of(1, after(60), "z"),
        turn_of(0, NOON, "z"),
        turn_of(0, after(0.000001), "a"),
        turn_of(0, after(0.000001), "b"),
        turn_of(-100, NOON - timedelta(days=999), "a"),
    ]

    assert expected == sorted(expected)
    assert expected[-1] < EVERYBODY


@pytest.mark.parametrize(
    "turn, seconds, expected",
    [
        pytest.param("a", 0.0, True, id="before the last"),
        pytest.param("b", 59.9, True, id="the last"),
        pytest.param("c", 0.0, False, id="behind the last"),
        pytest.param("a", 60.0, False, id="a call of long ago"),
    ],
)
def test_a_call_is_for_the_first_and_for_a_minute(
    turn: str, seconds: float, *, expected: bool
) -> None:
    """Whoever missed it is called again."""
    gate = rules.call_up(Gate(), "b", NOON)

    assert expected == rules.is_called(gate, turn, after(seconds))


def test_nobody_is_called_before_the_first_call() -> None:
    """Not even the first."""
    assert not rules.is_called(Gate(), "", NOON)


def test_the_same_call_soon_after_changes_nothing() -> None:
    """A tick every half second need not write."""
    gate = rules.call_up(Gate(), "b", NOON)

    assert gate is rules.call_up(gate, "b", after(10))
    assert after(10) == rules.call_up(gate, "c", after(10)).called_at
    assert after(40) == rules.call_up(gate, "b", after(40)).called_at


def test_a_stop_ends_by_itself() -> None:
    """And says what it is until then."""
    gate = rules.stop_all(Gate(), "too many", NOON, POLICY)

    assert "nothing is asked for; everything until 12:00:45 UTC: too many" == gate.summary
    assert rules.stop_of(gate, after(44)) is not None
    assert rules.stop_of(gate, after(45)) is None


def test_answers_to_what_was_asked_before_a_stop_make_it_no_longer() -> None:
    """Forty that fail at once are one failure."""
    gate = rules.stop_all(Gate(), "too many", NOON, POLICY)

    assert gate == rules.stop_all(gate, "too many again", after(10), POLICY)


def test_a_stop_that_was_not_long_enough_grows_up_to_a_bound() -> None:
    """And begins anew when it was."""
    gate, lengths, at = Gate(), [], NOON
    for _ in range(6):
        gate = rules.stop_all(gate, "too many", at, POLICY)
        assert gate.stopped is not None
        lengths.append((gate.stopped.until - at).total_seconds())
        at = gate.stopped.until + timedelta(seconds=1)

    assert [45.0, 90.0, 180.0, 360.0, 600.0, 600.0] == lengths
    rested = rules.stop_all(gate, "too many", at + timedelta(seconds=600), POLICY).stopped
    assert rested is not None
    assert 1 == rested.tries


@pytest.mark.parametrize(
    "asked, zone, expected",
    [
        pytest.param(need(8), ZONE, True, id="as much"),
        pytest.param(need(16), ZONE, True, id="more"),
        pytest.param(need(4), ZONE, False, id="less may still fit"),
        pytest.param(need(8), "us-east1-d", False, id="another zone"),
        pytest.param(need(8, "v5p"), ZONE, False, id="another generation"),
        pytest.param(need(8, tier="reserved"), ZONE, False, id="another tier"),
    ],
)
def test_a_quota_stops_those_who_need_as_much_of_the_same(
    asked: Need, zone: str, *, expected: bool
) -> None:
    """And nobody else."""
    gate = rules.stop_quota(Gate(), need(8), ZONE, why="no quota", now=NOON, policy=POLICY)

    assert expected == (rules.quota_of(gate, asked, zone, after(1)) is not None)
    assert rules.stop_of(gate, after(1)) is None


def test_the_smallest_that_failed_counts() -> None:
    """Also when a larger one fails after it."""
    gate = rules.stop_quota(Gate(), need(8), ZONE, why="no quota", now=NOON, policy=POLICY)
    gate = rules.stop_quota(gate, need(32), ZONE, why="no quota", now=after(1), policy=POLICY)

    assert rules.quota_of(gate, need(8), ZONE, after(2)) is not None


def test_quotas_that_are_long_over_are_forgotten() -> None:
    """The document stays small."""
    gate = rules.stop_quota(Gate(), need(8), ZONE, why="no quota", now=NOON, policy=POLICY)
    gate = rules.stop_quota(
        gate, need(8), "us-east1-d", why="no quota", now=after(9999), policy=POLICY
    )

    assert ["us-east1-d v4 spot"] == list(gate.quotas)
