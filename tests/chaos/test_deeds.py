"""Which deeds are done, and in which order, depends on the seed alone."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from tests.chaos.bags import BAG, script
from tests.chaos.deeds import Chaos
from tests.e2e import test_chaos

SIZE = sum(BAG.values())


def first(count: int, seed: int) -> list[str]:
    """Return the first deeds of a seed."""
    return list(islice(script(BAG, Random(seed)), count))


def test_a_seed_tells_the_same_story_again() -> None:
    """And another one another story."""
    assert first(300, 1) == first(300, 1)
    assert first(300, 1) != first(300, 2)


def test_a_bag_is_emptied_before_it_is_filled_again() -> None:
    """Nothing is left out by bad luck."""
    assert BAG == {name: first(SIZE, 3).count(name) for name in BAG}


@pytest.mark.parametrize("name", sorted({*BAG, *test_chaos.BAG}))
def test_every_deed_can_be_done(name: str) -> None:
    """A name in a bag is a method."""
    assert callable(getattr(Chaos, name))
