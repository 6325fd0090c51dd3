"""The budget of a minute, cut into shares."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.policy import Policy
from shared.core.rates import (
    SHARES_MAX,
    Share,
    backoff_s,
    chance_of,
    home_of,
    is_asking,
    left,
    shares,
    size,
    take,
)

NOON = datetime(2035, 1, 31, 12, tzinfo=UTC)
FULL = Share(NOON, 6)


@given(st.integers(1, 100_000))
def test_all_shares_together_are_the_budget(per_minute: int) -> None:
    """No place is lost or made by cutting; a share without a place is no share."""
    sizes = [size(per_minute, number) for number in range(shares(per_minute))]

    assert per_minute == sum(sizes)
    assert len(sizes) <= SHARES_MAX
    assert 1 <= min(sizes)


def test_a_share_gives_its_places_and_no_more() -> None:
    """Within one minute."""
    share, given_ = None, 0
    while (share := take(share, 6, NOON, f"bid-{given_}")) is not None:
        given_ += 1
        last = share

    assert 6 == given_
    assert replace(FULL, summary=last.summary, asking=last.asking) == last
    assert {f"bid-{number}": NOON for number in range(6)} == last.asking
    assert "6 of 6 requests in the minute from 2035-01-31 12:00 UTC" == last.summary


@pytest.mark.parametrize(
    "name, seconds, expected",
    [
        pytest.param("bid-1", 9.9, True, id="a moment ago"),
        pytest.param("bid-1", 10.0, False, id="too long ago to be alive"),
        pytest.param("bid-2", 0.0, False, id="another one"),
    ],
)
def test_who_took_a_place_is_known_for_a_moment(
    name: str, seconds: float, *, expected: bool
) -> None:
    """And forgotten by whoever takes the next."""
    share, at = take(None, 6, NOON, "bid-1"), NOON + timedelta(seconds=seconds)

    assert expected == is_asking(share, name, at, Policy())
    following = take(share, 6, at, "bid-3")
    assert following is not None
    assert (seconds < 10.0) == ("bid-1" in following.asking)


@pytest.mark.parametrize(
    "share, at, expected",
    [
        pytest.param(None, NOON, 6, id="nothing taken yet"),
        pytest.param(FULL, NOON + timedelta(seconds=59), 0, id="used up"),
        pytest.param(FULL, NOON + timedelta(seconds=60), 6, id="the next minute"),
        pytest.param(FULL, NOON - timedelta(seconds=1), 0, id="a clock that goes back"),
        pytest.param(Share(NOON, 9), NOON, 0, id="a budget that was lowered"),
    ],
)
def test_what_is_left_is_of_this_minute(share: Share | None, at: datetime, expected: int) -> None:
    """Time that goes back brings no place back."""
    assert expected == left(share, 6, at)


def test_those_who_look_for_a_place_begin_at_different_shares() -> None:
    """Or all of them would write the same document."""
    assert set(range(10)) == {home_of(f"bid-{number}", 10) for number in range(200)}


@given(st.integers(0, 10_000), st.floats(0.0, 1.0, exclude_max=True))
def test_a_wait_grows_and_is_bounded(tries: int, chance: float) -> None:
    """Whatever chance says; it never becomes shorter than three quarters of the first."""
    wait_s = backoff_s(tries, 45.0, 600.0, chance)

    assert 33.75 <= wait_s <= 600.0


def test_a_wait_doubles() -> None:
    """Until the bound."""
    waits = [backoff_s(tries, 45.0, 600.0, 0.0) for tries in range(1, 7)]

    assert [45.0, 90.0, 180.0, 360.0, 600.0, 600.0] == waits


def test_waits_are_spread_by_name_and_try() -> None:
    """The same ones for the same name: a function that runs twice decides the same."""
    chances = {chance_of(f"bid-{number}", 1) for number in range(100)}

    assert 100 == len(chances)
    assert 0.0 <= min(chances) < 0.1
    assert 0.9 < max(chances) < 1.0
    assert chance_of("bid-1", 1) != chance_of("bid-1", 2)
