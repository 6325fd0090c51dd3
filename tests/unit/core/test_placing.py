"""Zones are chosen, held and admitted as grants and distance allow."""

from __future__ import annotations

from datetime import timedelta

import pytest

from shared.core import placing
from shared.core.grants import Grant, Terms, Use
from shared.core.ordering import Refused
from shared.core.placing import Placed
from shared.errors import ControlPlaneError, NoAccess, QuotaExceeded, Stockout
from tests.unit.core.allowances import NOW, V5E, grant_of, terms_of

FREE, FULL, OUTSIDE = "europe-west4-a", "europe-west4-b", "us-central1-a"
UNKNOWN = "europe-west9-z"
V5E_GRANT = grant_of("eu", zones=(FREE,), accelerators=("v5e",), chips=16)
FULL_GRANT = grant_of("full", zones=(FULL,), accelerators=("v5e",), chips=16)
WITHIN = terms_of(
    V5E_GRANT,
    FULL_GRANT,
    uses=(Use("busy-1", V5E, FULL, True, NOW),),
)


def without(grant: Grant) -> Terms:
    """Let a grant end."""
    kept = [each for each in WITHIN.grants if each is not grant]
    return terms_of(*kept, grant_of("over", ends_at=NOW - timedelta(1)), uses=WITHIN.uses)


# --- No zone named ------------------------------------------------------------------------------


def test_zones_are_cut_down_to_those_without_cost() -> None:
    """Room comes first; what is full now may have room when it is asked."""
    placed = placing.choose(WITHIN, V5E, [OUTSIDE, FULL, FREE], i_pay=False)

    told = "zones without cost: europe-west4-a, europe-west4-b; 1 more would cost"
    assert Placed((FREE, FULL), told) == placed


@pytest.mark.parametrize("terms", [terms_of(), terms_of(V5E_GRANT)], ids=["none", "all free"])
def test_nothing_is_told_when_nothing_is_cut(terms: Terms) -> None:
    """The order is the catalog's."""
    zones = [FREE] if terms.grants else [OUTSIDE, FREE]

    assert Placed(tuple(zones)) == placing.choose(terms, V5E, zones, i_pay=False)


def test_who_pays_gets_all_zones_the_free_ones_first() -> None:
    """Nothing is told as long as it is free."""
    zones = [OUTSIDE, FULL, FREE]

    assert Placed((FREE, FULL, OUTSIDE)) == placing.choose(WITHIN, V5E, zones, i_pay=True)


def test_no_free_zone_is_refused_with_the_nearest_case() -> None:
    """A grant that has no room now is nearer than a price."""
    with pytest.raises(Refused) as refusal:
        placing.choose(WITHIN, V5E, [OUTSIDE, FULL], i_pay=False)

    assert (
        "grant full has 0 of 16 chips left (busy-1 uses 16), v5litepod-16 needs 16 and costs"
        " $7.12 an hour (16 chips at $0.44498, as of 2026-08); 1 other zone would cost, too;"
        " --i-pay goes ahead" == str(refusal.value)
    )


def test_the_cheapest_zone_is_told() -> None:
    """A zone without a known price is not cheap."""
    with pytest.raises(Refused) as refusal:
        placing.choose(WITHIN, V5E, [UNKNOWN, "us-west4-a", OUTSIDE, "us-east5-a"], i_pay=False)

    assert (
        "no grant covers v5litepod-16 spot in us-central1-a, which costs $3.92 an hour (16 chips"
        " at $0.24493, as of 2026-08); 3 other zones would cost, too; nearest: grant"
        in str(refusal.value)
    )


# --- Zones named --------------------------------------------------------------------------------


@pytest.mark.parametrize("zones", [(FREE, OUTSIDE), (FULL, FREE), (OUTSIDE,)])
def test_every_named_zone_has_to_be_free(zones: tuple[str, ...]) -> None:
    """Its owner meant all of them."""
    with pytest.raises(Refused, match=r"; --i-pay goes ahead$"):
        placing.hold(WITHIN, V5E, zones, i_pay=False)


def test_named_zones_keep_their_order() -> None:
    """Also those that cost; that is told."""
    placed = placing.hold(WITHIN, V5E, (OUTSIDE, FREE), i_pay=True)

    assert (OUTSIDE, FREE) == placed.zones
    assert (
        "its owner pays: no grant covers v5litepod-16 spot in us-central1-a, which costs $3.92"
        " an hour (16 chips at $0.24493, as of 2026-08)" == placed.told
    )


def test_named_zones_that_are_free_are_nothing_to_tell() -> None:
    """Whether their owner would pay or not."""
    assert Placed((FREE,)) == placing.hold(WITHIN, V5E, (FREE,), i_pay=True)
    assert Placed((FREE,)) == placing.hold(WITHIN, V5E, (FREE,), i_pay=False)


# --- Before a create ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "zone, zones, error",
    [
        pytest.param(OUTSIDE, (OUTSIDE, FREE), Stockout, id="outside, another is free"),
        pytest.param(OUTSIDE, (OUTSIDE, FULL), Stockout, id="outside, another gets room"),
        pytest.param(OUTSIDE, (OUTSIDE, UNKNOWN), NoAccess, id="outside, as all are"),
        pytest.param(FULL, (FULL, FREE), Stockout, id="full, another is free"),
        pytest.param(FULL, (FULL, OUTSIDE), QuotaExceeded, id="full, room will come"),
        pytest.param(FULL, (FULL,), QuotaExceeded, id="full, nowhere else"),
    ],
)
def test_a_create_that_would_cost_does_not_pass(
    zone: str, zones: tuple[str, ...], error: type[ControlPlaneError]
) -> None:
    """Elsewhere first, then later, then never."""
    with pytest.raises(error):
        placing.admit(WITHIN, V5E, zone, zones)


def test_a_create_that_is_free_passes() -> None:
    """Whatever the other zones are, and everywhere without grants."""
    placing.admit(WITHIN, V5E, FREE, (OUTSIDE, FREE, FULL))
    placing.admit(terms_of(), V5E, OUTSIDE, (OUTSIDE,))


def test_a_create_after_the_grant_s_end_says_how_to_go_on() -> None:
    """The reason is the job's."""
    with pytest.raises(NoAccess) as refusal:
        placing.admit(without(V5E_GRANT), V5E, FREE, (FREE,))

    assert str(refusal.value).startswith("no grant covers v5litepod-16 spot in europe-west4-a,")
    assert str(refusal.value).endswith("; tpuctl resume --i-pay goes on")
