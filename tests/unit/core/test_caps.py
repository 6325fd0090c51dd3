"""What one owner may have at once, in words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from shared.core.caps import over
from shared.core.grants import Need, Use
from shared.core.limits import Limits

NOON = datetime(2035, 1, 31, 12, tzinfo=UTC)


def use(name: str, chips: int = 8) -> Use:
    """A slice of v4."""
    return Use(name, Need(f"v4-{2 * chips}", "v4", "spot", chips), "us-central2-b", True, NOON)


MINE = use("mine")
TWO = (use("a"), use("b", 16))
MANY = tuple(use(f"s{number}") for number in range(7))


@pytest.mark.parametrize(
    "limits, others, expected",
    [
        pytest.param(Limits(), MANY, "", id="no cap"),
        pytest.param(Limits(slices_per_owner=3), TWO, "", id="the last slice"),
        pytest.param(Limits(chips_per_owner=32), TWO, "", id="the last chips"),
        pytest.param(
            Limits(slices_per_owner=2),
            TWO,
            "ada may have 2 slices at once and has 2 (a: 8, b: 16)",
            id="a slice too many",
        ),
        pytest.param(
            Limits(chips_per_owner=31),
            TWO,
            "ada may have 31 chips at once and has 24 (a: 8, b: 16), and v4-16 needs 8",
            id="chips too many",
        ),
        pytest.param(
            Limits(slices_per_owner=0), (), "ada may have 0 slices at once and has none", id="none"
        ),
        pytest.param(
            Limits(slices_per_owner=1),
            MANY,
            "ada may have 1 slice at once and has 7 (s0: 8, s1: 8, s2: 8, s3: 8, s4: 8, 2 more)",
            id="many are counted",
        ),
    ],
)
def test_a_cap_is_named_with_what_uses_it(
    limits: Limits, others: tuple[Use, ...], expected: str
) -> None:
    """Nothing is said of what fits."""
    assert expected == over(limits, "ada", MINE, others)
