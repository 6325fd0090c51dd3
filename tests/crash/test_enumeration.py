"""Every use case survives every fault at every one of its calls, and each fault really happened."""

from __future__ import annotations

from functools import cache

import pytest

from shared.app.push import RECEIVERS
from shared.core.orders import OrderKind
from tests.counting import PAIRS as NAMED_PAIRS
from tests.counting import count_points
from tests.crash.enumerating import Tally, enumerate_all, enumerate_pairs, prepare
from tests.crash.planted import MISTAKES, Mistake
from tests.crash.use_cases import TICK, USE_CASES, UseCase

PAIRS = 3

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quiet")]
each_use_case = pytest.mark.parametrize("use_case", USE_CASES, ids=[each.id for each in USE_CASES])


# One world for all faults; what became of it after one of them is known for the next.
prepared_once = cache(prepare)


@each_use_case
def test_a_use_case_survives_every_fault_at_every_call(
    use_case: UseCase, request: pytest.FixtureRequest
) -> None:
    """It dies before, dies after, loses the reply, repeats itself, or meets any error."""
    tally = Tally()
    enumerate_all(prepared_once(use_case), tally)
    count_points(request, use_case.id, tally.enumerated, tally.hit)

    assert [] == tally.failures
    assert tally.enumerated == tally.hit
    assert tally.enumerated > 0


@each_use_case
def test_a_use_case_survives_two_faults_in_a_row(
    use_case: UseCase, request: pytest.FixtureRequest
) -> None:
    """One hits the invocation, another one the next: a sample of all pairs."""
    tally = Tally()
    enumerate_pairs(prepared_once(use_case), tally, count=PAIRS, seed=use_case.id)
    count_points(request, f"{use_case.id}{NAMED_PAIRS}", tally.enumerated, tally.hit)

    assert [] == tally.failures
    assert tally.enumerated == tally.hit


def test_every_use_case_is_enumerated() -> None:
    """Whoever adds a function adds its cases."""
    assert {*RECEIVERS, TICK} == {use_case.who for use_case in USE_CASES}


def test_every_kind_of_order_is_enumerated() -> None:
    """Whoever adds an order adds its case."""
    assert set(OrderKind) == {use_case.order for use_case in USE_CASES} - {None}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=list(MISTAKES))
def test_a_mistake_is_found(mistake: Mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    """What survives everything does so because nothing of this is in it."""
    tally = Tally()
    (use_case,) = [each for each in USE_CASES if each.id == mistake.use_case]
    monkeypatch.setattr(mistake.where, mistake.name, mistake.instead)
    try:
        enumerate_all(prepare(use_case), tally)
    except AssertionError as error:  # it does not even survive without a fault
        tally.failures.append(str(error))

    assert tally.failures
