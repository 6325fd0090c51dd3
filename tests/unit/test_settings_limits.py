"""The table of limits: what may be written, and what is meant by leaving it out."""

from __future__ import annotations

import json

import pytest

from shared import settings
from shared.core.limits import Limits
from shared.errors import SpecError
from shared.settings import SETTINGS_VARIABLE


def read(**written: object) -> Limits:
    """Read a table as a function does."""
    return settings.load({SETTINGS_VARIABLE: json.dumps({"limits": written})}).limits


def test_without_a_table_only_requests_are_bounded() -> None:
    """Owners have no caps unless somebody sets them."""
    expected = Limits(creates_per_minute=60, slices_per_owner=None, chips_per_owner=None)

    assert expected == settings.load({SETTINGS_VARIABLE: "{}"}).limits


def test_what_is_left_out_keeps_its_default() -> None:
    """Each by itself; 0 is a cap, too."""
    assert Limits(60, 0, None) == read(slices_per_owner=0)
    assert Limits(5, None, 64) == read(creates_per_minute=5, chips_per_owner=64)


@pytest.mark.parametrize(
    "key, value, reason",
    [
        pytest.param("creates_per_minute", 0, "from 1 to 100000, found 0", id="nothing"),
        pytest.param("creates_per_minute", 100_001, "from 1 to 100000", id="too much"),
        pytest.param("chips_per_owner", -1, "of 0 or more, found -1", id="negative"),
        pytest.param("slices_per_owner", 1.5, "found 1.5", id="half a slice"),
        pytest.param("slices_per_owner", True, "found True", id="a truth"),
        pytest.param("slices_per_owner", "4", "found '4'", id="a text"),
        pytest.param("slice_per_owner", 4, "did you mean limits.slices_per_owner", id="a typo"),
    ],
)
def test_a_wrong_value_is_refused(key: str, value: object, reason: str) -> None:
    """With the key, and what is possible."""
    with pytest.raises(SpecError) as refused:
        read(**{key: value})

    assert f"${SETTINGS_VARIABLE}: limits.{key}: " in str(refused.value)
    assert reason in str(refused.value)
