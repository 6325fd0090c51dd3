"""What hosts say of an attempt is written down, and nothing else."""

from __future__ import annotations

import pytest

from shared.core.hosts import Checkpoint, Progress
from shared.core.recording import STEPS_MAX, record
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


def saved(now: Situation, *steps: int) -> Situation:
    """Let checkpoints be complete, one after another."""
    for step in steps:
        now = record(speaking(now, 0, checkpoint=Checkpoint(step, f"gs://c/{step}")))
    return now


def test_a_few_complete_steps_are_remembered() -> None:
    """Each once, the newest ones, in order."""
    now = saved(running(), *range(0, 1200, 100), 1100)

    assert tuple(range(1200 - 100 * STEPS_MAX, 1200, 100)) == now.served.steps


def choosing(step: int, newest: int | None) -> Situation:
    """Go on from a chosen step, while there is a newer one or nothing is known."""
    known = None if newest is None else Checkpoint(newest, f"gs://c/{newest}")
    return running().with_job(from_step=step, checkpoint=known).with_attempt(from_step=step)


@pytest.mark.parametrize(
    "newest, found, chosen",
    [
        pytest.param(400, (400,), 300, id="what was given up is still there"),
        pytest.param(400, (400, 310), 300, id="a program that puts it away has saved nothing more"),
        pytest.param(400, (300, 310), None, id="it has been put away, and a newer one saved"),
        pytest.param(400, (410,), None, id="newer than all that was there"),
        pytest.param(None, (400,), 300, id="what is seen first was there before"),
        pytest.param(None, (400, 500), None, id="and what comes then is new"),
    ],
)
def test_a_chosen_step_is_chosen_until_a_newer_checkpoint_is_complete(
    newest: int | None, found: tuple[int, ...], chosen: int | None
) -> None:
    """A preemption before that must not lead back to the checkpoint that was given up."""
    now = saved(choosing(300, newest), *found)

    assert chosen == now.served.from_step


def test_what_the_attempt_before_tells_late_is_not_newer_than_the_choice() -> None:
    """It saved once more when it was told to go; its owner had not seen that, and chose."""
    now = saved(choosing(300, 400).with_attempt(from_step=None), 410)

    assert (300, 410) == (now.served.from_step, known_step(now))


def known_step(now: Situation) -> int | None:
    """Return the step of the newest checkpoint that is known."""
    return now.served.checkpoint.step if now.served.checkpoint else None
