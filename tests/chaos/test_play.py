"""Chaos that broke too little proves nothing, and says so."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from shared.topology import FUNCTIONS
from tests.chaos.play import IN_VAIN_MAX, Plan, ineffective, too_mild

PLAN = Plan(preemptions_min=3)
KILLED = {f"functions killed, {name}": 1 for name in FUNCTIONS}
CASES = [
    pytest.param({**KILLED, "preemptions": 3}, [], id="enough"),
    pytest.param(
        {**KILLED, "preemptions": 2}, ["only 2 preemptions, 3 are wanted"], id="too few preemptions"
    ),
    pytest.param(
        {**KILLED, "functions killed, alert": 0, "preemptions": 3},
        ["function alert was never killed"],
        id="a function was spared",
    ),
]


@pytest.mark.parametrize("counts,complaints", CASES)
def test_what_was_too_mild_is_told(counts: Mapping[str, int], complaints: list[str]) -> None:
    """By what, and how often it was wanted."""
    assert complaints == too_mild(PLAN, counts)


def test_the_command_of_a_plan_does_the_same_again() -> None:
    """In minutes, as people say it."""
    plan = Plan(seconds=90.0, jobs=7, seed=3)

    assert "make chaos MINUTES=1.5 JOBS=7 SEED=3" == plan.command


def test_a_deed_that_breaks_nothing_however_often_is_told() -> None:
    """It may be that it cannot; now and then anything finds nothing to break."""
    tried = {"vanish": IN_VAIN_MAX, "storm": IN_VAIN_MAX - 1, "reboot_host": 0}

    expected = [f"vanish was done {IN_VAIN_MAX} times in a row and broke nothing"]
    assert expected == ineffective(tried)
