"""How long spot nodes live: by law, and by seed alone."""

from statistics import mean

import pytest
from pydantic import ValidationError

from sandbox.luck import Lifetime, chance_of

ZONE, KIND = "us-central2-b", "v4-16"


def lives(law: Lifetime, count: int, seed: int = 1) -> list[float | None]:
    """Draw the lives of so many nodes."""
    return [law.draw(chance_of(seed, ZONE, KIND, number), number) for number in range(count)]


@pytest.mark.parametrize(
    "repeat, expected",
    [
        pytest.param(False, [5.0, 7.0, None, None], id="then for ever"),
        pytest.param(True, [5.0, 7.0, 5.0, 7.0], id="again and again"),
    ],
)
def test_fixed_lives_come_in_their_order(repeat: bool, expected: list[float | None]) -> None:  # noqa: FBT001 - a case
    """As they are written."""
    law = Lifetime(kind="fixed", values_s=(5, 7), repeat=repeat)

    assert expected == lives(law, 4)


def test_exponential_lives_have_their_mean() -> None:
    """Within a few percent over many nodes."""
    found = [life for life in lives(Lifetime(kind="exponential", mean_s=100), 4000) if life]

    assert pytest.approx(100, rel=0.06) == mean(found)


def test_bathtub_lives_end_early_or_late() -> None:
    """Seldom in between, and never after the limit."""
    found = [life for life in lives(Lifetime(kind="bathtub", max_s=100), 4000) if life is not None]

    early = sum(life < 30 for life in found) / len(found)
    late = sum(life > 70 for life in found) / len(found)
    assert pytest.approx(0.25, abs=0.04) == early
    assert pytest.approx(0.72, abs=0.04) == late
    assert 100 >= max(found)


def test_luck_depends_on_the_seed_and_the_number_of_the_node_alone() -> None:
    """Whatever else was drawn before."""
    law = Lifetime(kind="exponential", mean_s=100)

    first, again, other = lives(law, 5), lives(law, 5), lives(law, 5, seed=2)

    assert first == again
    assert [] == [pair for pair in zip(first, other, strict=True) if pair[0] == pair[1]]


@pytest.mark.parametrize(
    "zone, kind, expected",
    [
        pytest.param("us-*", "*", True, id="a pattern"),
        pytest.param("*", "v4-*", True, id="a family"),
        pytest.param("europe-*", "*", False, id="another zone"),
        pytest.param("*", "v4-8", False, id="another type"),
    ],
)
def test_law_holds_for_some_zones_and_types(zone: str, kind: str, expected: bool) -> None:  # noqa: FBT001 - a case
    """By patterns."""
    law = Lifetime(kind="exponential", mean_s=1, zone=zone, accelerator_type=kind)

    assert expected == law.fits(ZONE, KIND)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"kind": "fixed"}, id="no list"),
        pytest.param({"kind": "fixed", "mean_s": 3}, id="the mean of another law"),
        pytest.param({"kind": "bathtub", "max_s": 3, "mean_s": 3}, id="two of them"),
    ],
)
def test_law_needs_its_own_numbers(fields: dict[str, object]) -> None:
    """And no other law's."""
    with pytest.raises(ValidationError, match=f"kind {fields['kind']} needs"):
        Lifetime.model_validate(fields)
