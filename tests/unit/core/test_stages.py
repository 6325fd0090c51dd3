"""Stages follow their table, and nothing else."""

import pytest

from shared.core.stages import TERMINAL, TRANSITIONS, Event, Stage, advance, can, mermaid
from shared.errors import IllegalTransition

ILLEGAL = [(stage, event) for stage in Stage for event in Event if not can(stage, event)]


@pytest.mark.parametrize("stage, event", ILLEGAL)
def test_a_pair_that_the_table_lacks_raises_and_names_both(stage: Stage, event: Event) -> None:
    """An event that cannot be is a bug; it is never ignored."""
    with pytest.raises(IllegalTransition, match=f"stage {stage} cannot meet {event}") as caught:
        advance(stage, event)

    assert (stage, event) == (caught.value.stage, caught.value.event)


def test_every_stage_is_reached_from_the_queue() -> None:
    """No row of the table is dead."""
    reached = {Stage.QUEUED}
    for _ in Stage:
        reached |= {new for (old, _), new in TRANSITIONS.items() if old in reached}

    assert set(Stage) == reached


def test_the_end_is_left_by_an_order_alone() -> None:
    """Nothing that happens wakes a job that is over."""
    assert {(stage, Event.RESUME_ORDERED) for stage in TERMINAL} == {
        (stage, event) for stage, event in TRANSITIONS if stage in TERMINAL
    }


def test_every_job_that_is_not_over_can_be_stopped() -> None:
    """Cancel wins, wherever the job is."""
    stoppable = {stage for stage, event in TRANSITIONS if event is Event.STOP_ORDERED}

    assert set(Stage) - TERMINAL - {Stage.STOPPING} == stoppable


def test_cancelled_is_reached_by_a_death_alone() -> None:
    """No shortcut leads around the writer."""
    ways = {(old, event) for (old, event), new in TRANSITIONS.items() if new is Stage.CANCELLED}

    assert {(Stage.STOPPING, Event.WRITER_DEAD)} == ways


def test_the_diagram_has_a_line_for_each_row() -> None:
    """One for each row, and the way in and out."""
    assert len(TRANSITIONS) + len(TERMINAL) + 2 == len(mermaid().splitlines())
