"""A grant as it was written down is checked word by word."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from shared.catalog_data import load_catalog
from shared.core.grant_form import GrantForm, make_grant, offers
from shared.core.grants import Grant
from shared.errors import SpecError

CATALOG = load_catalog()
NOW = datetime(2030, 1, 15, 12, tzinfo=UTC)
FORM = GrantForm(
    name="trc",
    zones=("us-central2-b",),
    types=("v4",),
    tiers=("spot",),
    chips=32,
    until="2030-01-31",
)


def made(**changes: object) -> Grant:
    """Make a grant of a form."""
    return make_grant(replace(FORM, **changes), CATALOG, "ada", NOW)  # type: ignore[arg-type]


def test_a_grant_says_in_one_sentence_what_it_gives() -> None:
    """That is what stands in a console."""
    expected = "32 chips of v4, spot, in us-central2-b until 2030-01-31"

    assert expected == made().summary
    assert f"{expected} (for the paper)" == made(note="for the paper").summary


def test_several_of_a_kind_are_alternatives() -> None:
    """Named twice is named once."""
    grant = made(
        zones=("us-central1-a", "us-west4-a", "us-central1-a"), types=("v5e", "v6e-8", "v4")
    )

    assert ("us-central1-a", "us-west4-a") == grant.zones
    assert "32 chips of v5e, v6e-8 or v4, spot, in us-central1-a or us-west4-a" in grant.summary


def test_the_last_day_counts_to_its_end() -> None:
    """In UTC."""
    assert datetime(2030, 2, 1, tzinfo=UTC) == made().ends_at
    assert "2030-01-31" == made().last_day


def test_today_is_not_over_yet() -> None:
    """Today is the day in UTC, wherever the clock is."""
    west = NOW.replace(hour=1).astimezone(timezone(timedelta(hours=-8)))

    assert "2030-01-15" == made(until="2030-01-15").last_day
    with pytest.raises(SpecError, match="2030-01-14 is over, today is 2030-01-15 in UTC"):
        make_grant(replace(FORM, until="2030-01-14"), CATALOG, "ada", west)


@pytest.mark.parametrize(
    "written, expected",
    [
        ("v4", "v4"),
        ("v4-16", "v4-16"),
        ("v5e", "v5e"),
        ("v5litepod", "v5e"),
        ("v5", "v5p"),
        ("v6", "v6e"),
        ("v5e-16", "v5litepod-16"),
    ],
)
def test_accelerators_go_by_any_of_their_names(written: str, expected: str) -> None:
    """A generation, or a type as the catalog calls it."""
    assert (expected,) == made(types=(written,)).accelerators


@pytest.mark.parametrize(
    "changes, field, reason",
    [
        pytest.param({"name": "A b"}, "name", "expected at most 40 lower-case", id="name"),
        pytest.param({"name": "a" * 41}, "name", "expected at most 40", id="long name"),
        pytest.param({"name": ""}, "name", "found ''", id="no name"),
        pytest.param({"zones": ("us-centrl2-b",)}, "zone", "near: us-central2-b", id="near zone"),
        pytest.param({"zones": ("moon",)}, "zone", "'moon' is not known; near: asia", id="zone"),
        pytest.param({"zones": ()}, "zone", "is missing", id="no zone"),
        pytest.param({"types": ("v9",)}, "type", "'v9' is not known; near: v", id="generation"),
        pytest.param({"types": ("tpu",)}, "type", "near: v2, v3, v4", id="no generation at all"),
        pytest.param({"types": ("v4-17",)}, "type", "near: v4-16", id="type"),
        pytest.param({"types": ("",)}, "type", "'' is not known", id="empty type"),
        pytest.param({"tiers": ("sport",)}, "tier", "'sport' is not known; near: spot", id="tier"),
        pytest.param(
            {"tiers": ("x",)}, "tier", "near: spot, on-demand, reserved", id="unlike any tier"
        ),
        pytest.param({"chips": 0}, "chips", "expected 1 to 100,000, found 0", id="no chips"),
        pytest.param({"chips": -8}, "chips", "found -8", id="fewer than none"),
        pytest.param({"chips": 10**6}, "chips", "found 1000000", id="too many chips"),
        pytest.param({"until": "2030-01-14"}, "until", "2030-01-14 is over", id="yesterday"),
        pytest.param({"until": "31.1.2030"}, "until", "a day such as 2027-01-31", id="a date"),
        pytest.param({"until": "2030-02-30"}, "until", "a day such as", id="no such day"),
        pytest.param({"until": "20300131"}, "until", "a day such as", id="without hyphens"),
        pytest.param({"until": ""}, "until", "found ''", id="no day"),
        pytest.param({"until": "9999-12-31"}, "until", "more than 50 years", id="for ever"),
        pytest.param({"note": "a\nb"}, "note", "expected one line", id="two lines"),
        pytest.param({"note": "a" * 501}, "note", "at most 500 characters", id="long note"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, object], field: str, reason: str) -> None:
    """With the field, in one line."""
    with pytest.raises(SpecError) as error:
        made(**changes)

    assert field == error.value.field
    assert reason in error.value.reason
    assert "\n" not in error.value.reason


@pytest.mark.parametrize(
    "changes, expected",
    [
        pytest.param({}, True, id="offered"),
        pytest.param({"zones": ("europe-west4-a",)}, False, id="not there"),
        pytest.param({"types": ("v4", "v5e"), "zones": ("us-west4-a",)}, True, id="one is there"),
        pytest.param({"types": ("v5e-8",), "zones": ("us-west4-a",)}, True, id="by its type"),
    ],
)
def test_a_grant_for_what_is_not_offered_is_noticed(
    changes: dict[str, object],
    expected: bool,  # noqa: FBT001 - a row of the table
) -> None:
    """Catalogs are late, so it is no error."""
    assert expected is offers(made(**changes), CATALOG)
