"""Grants: what is covered, who uses it, what is left, and what the rest costs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from shared.core import grants
from shared.core.grants import Grant, Standing, judge
from tests.unit.core.allowances import (
    CATALOG,
    NOW,
    OTHER_ZONE,
    V4,
    ZONE,
    grant_of,
    terms_of,
    use_of,
)

# --- What is free -------------------------------------------------------------------------------


def test_a_project_without_grants_is_asked_nothing() -> None:
    """It pays for everything and knows it."""
    assert Standing.FREE is judge(terms_of(), V4, ZONE).standing
    assert not terms_of().bind


@pytest.mark.parametrize(
    "changes, standing",
    [
        pytest.param({}, Standing.FREE, id="as it says"),
        pytest.param({"accelerators": ("v4-16",)}, Standing.FREE, id="the type itself"),
        pytest.param({"accelerators": ("v5e", "v4")}, Standing.FREE, id="one of several"),
        pytest.param({"chips": 8}, Standing.FREE, id="to the last chip"),
        pytest.param({"chips": 7}, Standing.FULL, id="one chip too few"),
        pytest.param({"accelerators": ("v4-8",)}, Standing.OUTSIDE, id="another type"),
        pytest.param({"accelerators": ("v5e",)}, Standing.OUTSIDE, id="another generation"),
        pytest.param({"tiers": ("on-demand",)}, Standing.OUTSIDE, id="another tier"),
        pytest.param({"zones": (OTHER_ZONE,)}, Standing.OUTSIDE, id="another zone"),
        pytest.param({"ends_at": NOW}, Standing.OUTSIDE, id="ends now"),
        pytest.param({"ends_at": NOW + timedelta(seconds=1)}, Standing.FREE, id="ends soon"),
    ],
)
def test_a_grant_covers_what_it_says(changes: dict[str, Any], standing: Standing) -> None:
    """Accelerator, tier, zone, time and chips all have to fit."""
    assert standing is judge(terms_of(grant_of(**changes)), V4, ZONE).standing


def test_the_data_s_region_is_checked_without_any_grant() -> None:
    """Distance costs something also who pays for chips anyway."""
    far = judge(terms_of(region="us-central1"), V4, ZONE)

    assert Standing.OUTSIDE is far.standing
    assert (
        "the data is in us-central1: reading it from us-central2-b costs $0.02 to 0.14 per GiB"
        == far.why
    )
    assert Standing.FREE is judge(terms_of(region="us-central2"), V4, ZONE).standing


def test_what_is_far_and_not_covered_says_both_prices() -> None:
    """Both are paid."""
    judged = judge(terms_of(grant_of(zones=(OTHER_ZONE,)), region="us-central1"), V4, ZONE)

    assert "no grant covers" in judged.why
    assert "per GiB" in judged.why


def test_what_a_full_grant_covers_far_away_is_outside() -> None:
    """Room will not bring it nearer."""
    judged = judge(terms_of(grant_of(chips=1), region="us-central1"), V4, ZONE)

    assert Standing.OUTSIDE is judged.standing


# --- What it costs ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, tier, zone, expected",
    [
        pytest.param(
            "v4-16",
            "spot",
            ZONE,
            "costs $7.37 an hour (8 chips at $0.9215, as of 2026-08)",
            id="spot",
        ),
        pytest.param(
            "v4-1024",
            "on-demand",
            ZONE,
            "costs $1,648.64 an hour (512 chips at $3.22, as of 2026-08)",
            id="on-demand",
        ),
        pytest.param(
            "v4-16",
            "reserved",
            ZONE,
            "costs $25.76 an hour (8 chips at $3.22, as of 2026-08)",
            id="reserved",
        ),
        pytest.param(
            "v6e-8", "spot", "southamerica-west1-a", "has no known price", id="no spot price"
        ),
        pytest.param("v4-16", "spot", OTHER_ZONE, "has no known price", id="not offered there"),
    ],
)
def test_the_price_is_that_of_the_whole_slice(
    name: str, tier: str, zone: str, expected: str
) -> None:
    """In USD an hour; what is not known is not guessed."""
    assert expected == grants.price(CATALOG, grants.need_of(CATALOG, name, tier), zone)


def test_who_uses_a_full_grant_is_told() -> None:
    """With their chips."""
    judged = judge(terms_of(grant_of(), uses=(use_of("a"), use_of("b", age_s=9.0))), V4, ZONE)

    assert Standing.FULL is judged.standing
    assert (
        "grant trc has 0 of 16 chips left (b uses 8, a uses 8), v4-16 needs 8 and costs"
        " $7.37 an hour (8 chips at $0.9215, as of 2026-08)" == judged.why
    )


@pytest.mark.parametrize(
    "kept, expected",
    [
        pytest.param(
            (grant_of("far", zones=(OTHER_ZONE,)), grant_of("other", accelerators=("v5e",))),
            "nearest: grant far, 16 chips of v4, spot, in us-central1-a until 2030-01-30",
            id="the accelerator counts more than the zone",
        ),
        pytest.param(
            (
                grant_of("one", tiers=("on-demand",), zones=(OTHER_ZONE,)),
                grant_of("two", accelerators=("v5e", "v6e-8")),
            ),
            "nearest: grant two, 16 chips of v5e or v6e-8, spot, in us-central2-b until 2030-01-30",
            id="two of three are nearer than one",
        ),
        pytest.param(
            (grant_of("old", ends_at=NOW), grant_of("other", accelerators=("v5e",))),
            "grant old ended with 2029-12-31",
            id="the one that covered it has ended",
        ),
        pytest.param(
            (
                grant_of("older", ends_at=NOW - timedelta(days=9), tiers=("reserved",)),
                grant_of("old", ends_at=NOW, tiers=("reserved",)),
            ),
            "grant old ended with 2029-12-31",
            id="all have ended",
        ),
    ],
)
def test_what_would_be_free_is_hinted_at(kept: tuple[Grant, ...], expected: str) -> None:
    """The nearest grant, or the one that is over."""
    assert expected == judge(terms_of(*kept), V4, ZONE).hint
