"""What hosts say of an attempt is written down, and nothing else."""

from __future__ import annotations

import pytest

from shared.core.hosts import Checkpoint, Progress
from shared.core.recording import record
from shared.core.situation import Situation
from tests.unit.core.situations import running, speaking

FOUND = Checkpoint(100, "gs://c/100")


def starting(**changes: object) -> Situation:
    """Let the newest attempt have begun after what was known to be step 80."""
    known = {"known_step": 80, "start_step": 80, "last_step": None, "checkpoint_step": None}
    return running().with_attempt(**{**known, **changes})


def test_an_attempt_goes_on_from_what_it_finds() -> None:
    """A save that was completed just before a silent loss was never reported by the lost."""
    now = record(speaking(starting(), 0, checkpoint=FOUND))

    assert 100 == now.attempts[-1].start_step


@pytest.mark.parametrize(
    "now, said",
    [
        pytest.param(starting(), {"progress": Progress(101)}, id="it has begun in the meantime"),
        pytest.param(starting(from_step=80), {}, id="its owner chose the step"),
        pytest.param(starting(checkpoint_step=80), {}, id="it found another one first"),
        pytest.param(starting(known_step=None), {}, id="there was none to find"),
    ],
)
def test_later_checkpoints_do_not_change_where_it_started(
    now: Situation, said: dict[str, object]
) -> None:
    """They are its own, or not what it was told to take."""
    now = record(speaking(now, 0, checkpoint=FOUND, **said))

    assert 80 == now.attempts[-1].start_step


def test_progress_and_checkpoints_are_the_jobs_too() -> None:
    """The furthest of all hosts counts."""
    now = speaking(running(), 0, progress=Progress(5), checkpoint=Checkpoint(4, "gs://c/4"))
    now = record(speaking(now, 1, progress=Progress(7)))

    assert (Progress(7), Checkpoint(4, "gs://c/4")) == (now.served.progress, now.served.checkpoint)
    assert (7, 4) == (now.attempts[-1].last_step, now.attempts[-1].checkpoint_step)
