"""The mutants themselves: each can be made; some are killed here, all by ``make mutants``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.simulation.mutant_list import PAIRS, SINGLES, all_mutants
from tests.simulation.mutants import Change
from tests.simulation.mutate import kill

ROOT = Path(__file__).parents[2]
# Those that the first seeds see: what takes longer is tried by hand.
QUICK = ("acknowledged by some", "random names", "no revision")
CHANGES = sorted(
    {change for mutants in all_mutants().values() for each in mutants for change in each.changes},
    key=lambda change: (change.module, change.old),
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.module)
def test_what_a_mutant_changes_is_in_the_source_once(change: Change) -> None:
    """A text that is not there any more would leave the product as it is."""
    source = ROOT.joinpath(*change.module.split(".")).with_suffix(".py")

    assert 1 == source.read_text(encoding="utf-8").count(change.old)
    assert change.old != change.new


def test_there_are_enough_of_them() -> None:
    """At least twenty, each with the rule that it breaks, and none twice."""
    names = list(all_mutants())

    assert len(SINGLES) + len(PAIRS) == len(set(names)) >= 20
    assert all(mutant.rule for mutant in SINGLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_mutant_dies(name: str) -> None:
    """A world without one rule is seen to be wrong."""
    death = kill(name, seeds=12)

    assert death.by
    assert death.saw
