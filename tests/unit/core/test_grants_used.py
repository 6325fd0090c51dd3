"""Who uses which grant, and who comes first when it does not do for all."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core import grants
from shared.core.grants import Grant, Use
from shared.core.slices import BidStage, Slice
from tests.unit.core.allowances import (
    CATALOG,
    NOW,
    OTHER_ZONE,
    V4,
    V5E,
    ZONE,
    grant_of,
    terms_of,
    use_of,
)
from tests.unit.core.situations import current, running, settled, submitted, with_bid


def test_a_use_that_fits_into_no_grant_uses_none() -> None:
    """It is paid for; a smaller one after it still fits."""
    big = grants.need_of(CATALOG, "v4-64", "spot")
    uses = (use_of("big", big, age_s=9.0), use_of("small"))

    assert ["small"] == [
        use.slice for use in grants.users_of(terms_of(grant_of(), uses=uses))["trc"]
    ]


def test_the_grant_that_ends_first_is_used_first() -> None:
    """What is over is not counted on any more; what lasts is kept for later."""
    soon = grant_of("soon", ends_at=NOW + timedelta(days=1), chips=8)
    terms = terms_of(grant_of(), soon, grant_of("over", ends_at=NOW), uses=(use_of("a"),))

    found = {name: len(uses) for name, uses in grants.users_of(terms).items()}

    assert {"soon": 1, "trc": 0} == found


NEEDS = st.sampled_from([V4, V5E, grants.need_of(CATALOG, "v4-8", "on-demand")])
USES = st.lists(
    st.builds(
        Use,
        slice=st.text("abc", min_size=1, max_size=3),
        need=NEEDS,
        zone=st.sampled_from([ZONE, OTHER_ZONE]),
        is_held=st.booleans(),
        since=st.integers(0, 9).map(lambda age_s: NOW - timedelta(seconds=age_s)),
    ),
    unique_by=lambda use: use.slice,
    max_size=12,
).map(tuple)
GRANTS = st.lists(
    st.builds(
        grant_of,
        st.text("xyz", min_size=1, max_size=3),
        chips=st.integers(1, 40),
        tiers=st.sampled_from([("spot",), ("spot", "on-demand")]),
        accelerators=st.sampled_from([("v4",), ("v4", "v5e"), ("v5e",)]),
    ),
    unique_by=lambda grant: grant.id,
    max_size=4,
).map(tuple)


@given(GRANTS, USES)
def test_no_grant_gives_more_than_it_has(kept: tuple[Grant, ...], uses: tuple[Use, ...]) -> None:
    """Nor what it does not cover, nor one slice from two grants."""
    users = grants.users_of(terms_of(*kept, uses=uses))

    served = [use.slice for found in users.values() for use in found]
    assert len(set(served)) == len(served)
    for grant in kept:
        assert grants.chips_of(users[grant.id]) <= grant.chips
        assert all(grant.covers(use.need, use.zone) for use in users[grant.id])


@given(USES)
def test_of_two_that_wait_exactly_one_is_ahead(uses: tuple[Use, ...]) -> None:
    """So the last chips go to one of them, and not to none."""
    waiting = [replace(use, is_held=False) for use in uses]

    for one in waiting:
        for other in waiting:
            if one is not other:
                ahead = [_is_ahead(one, other), _is_ahead(other, one)]
                assert [False, True] == sorted(ahead)


def _is_ahead(one: Use, other: Use) -> bool:
    slice_ = replace(running().slice, name=other.slice, created_at=other.since)
    return bool(grants.ahead_of(slice_, [one]))


def test_what_is_held_is_ahead_of_what_was_asked_earlier() -> None:
    """And a slice is never ahead of itself."""
    mine = replace(running().slice, created_at=NOW - timedelta(hours=1))
    others = [use_of("late"), use_of("late-and-idle", is_held=False), use_of(mine.name)]

    assert ["late"] == [use.slice for use in grants.ahead_of(mine, others)]


# --- What a slice uses --------------------------------------------------------------------------


def test_a_slice_uses_chips_where_its_bid_is() -> None:
    """Held once the cloud was asked."""
    slice_ = running().slice
    zone = current(running()).bids[-1].zone

    assert Use(slice_.name, V4, zone, True, slice_.created_at) == grants.use_of(slice_, CATALOG)


def test_a_bid_that_the_cloud_was_not_asked_for_is_not_held() -> None:
    """It is only waiting."""
    now = with_bid(settled(submitted()), stage=BidStage.INTENDED)

    assert not _use(now.slice).is_held


def test_a_slice_without_a_bid_waits_in_the_zone_whose_turn_it_is() -> None:
    """That is where it will ask."""
    slice_ = replace(submitted().slice, zones=(ZONE, OTHER_ZONE), zone_turn=3)

    assert OTHER_ZONE == _use(slice_).zone


@pytest.mark.parametrize("changes", [{"live": False}, {"wanted": False}])
def test_a_slice_on_its_way_out_uses_nothing(changes: dict[str, bool]) -> None:
    """Whoever comes next need not wait for its end."""
    slice_ = replace(running().slice, **changes)  # type: ignore[arg-type]

    assert grants.use_of(slice_, CATALOG) is None


def _use(slice_: Slice) -> Use:
    use = grants.use_of(slice_, CATALOG)
    assert use is not None, "it is live and wanted"
    return use
