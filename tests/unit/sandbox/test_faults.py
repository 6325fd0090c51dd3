"""Faults as words: what is wrong in them, and that each of them has an effect."""

from collections.abc import Mapping

import pytest

from sandbox.errors import ApiError, SettingsError
from sandbox.faults import FAULTS
from tests.clouds import active_cloud, make_cloud

ZONE = "us-central2-b"
Words = Mapping[str, object]


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param({}, "fault: is missing; there are: audit-log, call,", id="none"),
        pytest.param(
            {"fault": "stockot"}, "there is no fault stockot; did you mean stockout?", id="near"
        ),
        pytest.param({"fault": "xyz"}, "there is no fault xyz; there are: audit-log", id="far"),
        pytest.param(
            {"fault": "reboot", "nod": "a"},
            "nod: there is no such key; did you mean node?",
            id="key",
        ),
        pytest.param({"fault": "stockout"}, "zone: Field required", id="missing"),
        pytest.param(
            {"fault": "stockout", "target": "mars"}, "zone: there is no zone 'mars'", id="zone"
        ),
        pytest.param(
            {"fault": "slow-create", "target": "a"}, "slow-create takes no name here", id="target"
        ),
        pytest.param(
            {"fault": "call", "target": "X", "code": 418}, "code: Input should be 400,", id="code"
        ),
        pytest.param(
            {"fault": "clock-skew", "skew_s": "much"},
            "skew_s: Input should be a valid number",
            id="number",
        ),
        pytest.param(
            {"fault": "stockout", "target": ZONE, "for_s": -1},
            "for_s: Input should be greater",
            id="negative",
        ),
    ],
)
def test_wrong_words_are_refused_with_their_place(words: Words, expected: str) -> None:
    """One line, and the nearest good one."""
    with pytest.raises(SettingsError) as error:
        make_cloud().weather.inject(words)

    assert expected in str(error.value)
    assert 1 == len(str(error.value).splitlines())


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param(
            {"fault": "reboot", "target": "b"}, "no node that is READY is named b", id="node"
        ),
        pytest.param({"fault": "reboot", "host": 7}, r"\* has no host 7", id="host"),
        pytest.param({"fault": "vanish", "zone": "europe-*"}, "no node that is READY", id="zone"),
        pytest.param({"fault": "health", "health": "FINE"}, "no such health: FINE", id="health"),
    ],
)
def test_fault_without_anybody_to_hit_is_refused(words: Words, expected: str) -> None:
    """The cloud stays as it is."""
    with pytest.raises(ApiError, match=expected):
        active_cloud().weather.inject(words)


def test_every_fault_has_an_effect() -> None:
    """No name in the table is without one."""
    needed: dict[str, Words] = {
        "call": {"target": "GetNode"},
        "clock-skew": {"skew_s": 3},
        "hidden": {"target": ZONE},
        "lost-reply": {"target": "GetNode"},
        "quota": {"target": "us-central2", "generation": "v4"},
        "slow-call": {"target": "GetNode", "delay_s": 3},
        "stockout": {"target": ZONE},
        "unreachable": {"target": ZONE},
    }

    hits = {
        name: active_cloud().weather.inject({"fault": name, **needed.get(name, {})})
        for name in FAULTS
    }

    assert [] == [name for name, hit in hits.items() if not hit]
