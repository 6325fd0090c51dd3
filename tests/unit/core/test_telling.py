"""Mandates follow from the documents, and a changed one takes the writer's right away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.core import ordering
from shared.core.decide import decide
from shared.core.model import Ending
from shared.core.situation import Situation
from shared.core.slices import Mandate
from shared.core.telling import tell
from shared.core.work import start
from tests.unit.core.situations import (
    again,
    all_ended,
    claimed,
    ended,
    failed,
    losing,
    newest,
    obeyed,
    race,
    recovering,
    running,
    settled,
    spec_of,
    stopping,
    submitted,
)


def order_of(now: Situation, number: int | None = None) -> Mandate:
    """Return what a generation (the newest, if none is named) is told."""
    generation = now.generation(number) if number else newest(now)
    assert generation is not None, "the scene keeps that generation"
    return generation.mandate


@pytest.mark.parametrize(
    "make, action, grace_s",
    [
        pytest.param(lambda: decide(submitted()), "prepare", 30.0, id="before it is there"),
        pytest.param(lambda: claimed(submitted()), "prepare", 30.0, id="before an attempt"),
        pytest.param(running, "start", 30.0, id="in an attempt"),
        pytest.param(lambda: decide(ended(running(), 0, exit_code=1)), "idle", 1.0, id="a gang"),
        pytest.param(stopping, "idle", 30.0, id="a stop"),
        pytest.param(failed, "idle", 30.0, id="while it is held"),
        pytest.param(lambda: decide(again(failed())), "prepare", 30.0, id="once more"),
        pytest.param(lambda: settled(all_ended(running(), exit_code=0)), "end", 30.0, id="over"),
    ],
)
def test_what_agents_are_told_follows_from_the_stage(
    make: Callable[[], Situation], action: str, grace_s: float
) -> None:
    """With the grace that the attempt is given to save its state."""
    order = order_of(make())

    assert (action, grace_s) == (order.action, order.grace_s)


def test_a_lost_generation_is_told_to_end_and_the_next_to_prepare() -> None:
    """In the same decision."""
    now = decide(losing(running()))

    assert ("end", "prepare") == (order_of(now, 2).action, order_of(now, 3).action)


def test_telling_again_tells_nothing_new() -> None:
    """A sequence stands for one order."""
    now = recovering()

    assert now == tell(now)


def test_the_first_mandate_after_a_start_ends_its_writer() -> None:
    """That is what hosts must have seen to acknowledge."""
    before, after = running(), decide(losing(running()))
    writer = after.served.writer

    assert writer is not None
    assert order_of(before).sequence + 1 == writer.end_sequence == order_of(after, 2).sequence


def test_an_attempt_that_is_over_before_it_was_told_has_an_end_too() -> None:
    """In one decision; its slice, and the next attempt, wait for that proof."""
    begun = start(obeyed(claimed(submitted())))
    over = tell(begun.with_job(ending=Ending(0, begun.now, "host 0 ended")))
    writer = over.served.writer

    assert writer is not None
    assert (order_of(over).sequence, "idle") == (writer.end_sequence, order_of(over).action)


def test_a_later_mandate_does_not_move_the_end() -> None:
    """Hosts that saw the first one were told already."""
    stopped, lost = stopping(), settled(losing(stopping()))
    assert order_of(stopped).sequence < order_of(lost, 2).sequence

    assert stopped.served.writer == lost.served.writer


def test_a_kill_is_told_even_to_those_who_were_told_to_stop() -> None:
    """The same order with no grace is another sequence."""
    killed = decide(ordering.stop(stopping(), kill=True))

    assert (order_of(stopping()).sequence + 1, 0.0) == (
        order_of(killed).sequence,
        order_of(killed).grace_s,
    )


def test_a_grace_that_only_grew_is_no_news() -> None:
    """Agents are not told again to take more time."""
    now = stopping()
    patient = replace(now, job_spec=spec_of(grace_s=90.0))

    assert order_of(now) == order_of(tell(patient))


def test_a_bid_more_is_told_with_its_token() -> None:
    """Hosts of every bid read the same object."""
    assert ("0", "1") == order_of(race()).bids


def test_a_job_elsewhere_leaves_its_old_slice_idle() -> None:
    """What it is told there is not what it is told here."""
    now = running()
    gone = now.with_job(slice="hi-2", slice_uid="slice002")

    assert "idle" == order_of(tell(gone)).action


def test_a_bell_that_was_not_heard_yet_is_rung_for_the_next_mandate() -> None:
    """Agents that look rarely are still looking rarely."""
    unheard = decide(ordering.stop(running(), kill=False))
    lost = decide(losing(unheard))

    assert order_of(unheard).rings
    assert order_of(lost, 2).rings
    assert not order_of(claimed(submitted())).rings
