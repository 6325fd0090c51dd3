"""What was performed is marked on the slice that it was performed for."""

from __future__ import annotations

from shared.app.settle import _all
from shared.core.situation import Situation
from tests.unit.core.situations import submitted


def held(now: Situation) -> Situation:
    """Be a mark that can be seen."""
    return now.with_slice(summary="marked")


def test_a_mark_is_taken_in() -> None:
    """What was done for a slice is written there."""
    now = submitted()

    assert "marked" == _all([held], now.slice.uid)(now).slice.summary


def test_a_mark_is_not_taken_for_a_later_slice_of_the_same_name() -> None:
    """A function that went on for an hour finds another slice where its own was."""
    now = submitted()

    assert now == _all([held], "anotherid")(now)
