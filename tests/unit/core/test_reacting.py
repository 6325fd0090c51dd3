"""What an attempt leaves behind decides whether it is worth going on from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.core.causes import Cause
from shared.core.decide import decide
from shared.core.hosts import Checkpoint, Progress
from shared.core.model import FailedRestore
from shared.core.reacting import left_by
from shared.core.rules import FRUITLESS_MAX, Left
from shared.core.situation import Situation
from shared.core.stages import Stage
from tests.unit.core.situations import (
    LOST_LINK,
    all_ended,
    claimed,
    losing,
    obeyed,
    running,
    settled,
    speaking,
    spec_of,
    started,
    submitted,
)

NEWEST = 4000
BUG = {"exit_code": 1, "evidence": "zarr: checksum mismatch"}
LINK = {"exit_code": 1, "evidence": LOST_LINK}


def known(*steps: int, **changes: object) -> Situation:
    """Run an attempt that goes on from the last of some steps; steps were seen before it."""
    newest = Checkpoint(steps[-1], f"gs://c/{steps[-1]}")
    facts = {"checkpoint": newest, "steps": steps, "progress": Progress(steps[-1]), **changes}
    return started(claimed(submitted()).with_job(**facts))


def failing(now: Situation, **how: object) -> Situation:
    """Let the command fail on all hosts."""
    return settled(all_ended(now, **how))


def getting_to(now: Situation, step: int) -> Situation:
    """Let the command reach a step."""
    return speaking(now, 0, progress=Progress(step))


def saving(now: Situation, step: int) -> Situation:
    """Let the command complete a checkpoint."""
    return settled(speaking(now, 0, checkpoint=Checkpoint(step, f"gs://c/{step}")))


# --- Checkpoints that cannot be restored --------------------------------------------------------


def test_a_job_that_dies_twice_while_restoring_stops_and_names_an_earlier_step() -> None:
    """Once may be chance; the sentence says what to type."""
    once = failing(known(2000, 3000, NEWEST), **BUG)
    twice = failing(started(once), **BUG)

    assert (Stage.PREPARING, Stage.FAILED) == (once.served.stage, twice.served.stage)
    assert twice.served.reason == (
        "error (host 0, exit code 1): attempts 0 and 1 both failed while restoring step 4000;"
        " go on from an earlier one: tpuctl resume 1 --from-step 3000"
    )


def test_where_no_earlier_step_is_known_it_says_to_begin_again() -> None:
    """Nothing that nobody saw is advised."""
    twice = failing(started(failing(known(NEWEST), **BUG)), **BUG)

    assert twice.served.reason.endswith("restoring step 4000; begin again: tpuctl rerun 1")


def test_a_preemption_between_two_failed_restores_does_not_hide_them() -> None:
    """It neither counts nor begins anew."""
    once = started(failing(known(NEWEST), **BUG))
    lost = started(claimed(obeyed(settled(losing(once)), 1)))
    failed = failing(lost, **BUG)

    assert FailedRestore(NEWEST, (0, 2)) == failed.served.failed_restore
    assert Stage.FAILED is failed.served.stage


def test_an_attempt_that_gets_further_ends_the_row() -> None:
    """One step after the checkpoint is enough: it was restored."""
    once = started(failing(known(NEWEST), **BUG))
    further = failing(getting_to(once, NEWEST + 1), **BUG)

    assert further.served.failed_restore is None
    assert "it failed without reaching a newer checkpoint" in further.served.reason


def test_the_step_that_was_restored_is_not_further() -> None:
    """Programs say which step they restored."""
    once = started(failing(getting_to(known(NEWEST), NEWEST), **BUG))
    twice = failing(getting_to(once, NEWEST), **BUG)

    assert FailedRestore(NEWEST, (0, 1)) == twice.served.failed_restore


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"progress": None}, id="steps were never seen"),
        pytest.param({"checkpoint": None, "steps": ()}, id="nothing is restored"),
    ],
)
def test_where_nobody_can_say_that_it_was_restoring_it_is_a_crash_loop(
    changes: dict[str, object],
) -> None:
    """It stops at once, and blames no checkpoint."""
    failed = failing(known(NEWEST, **changes), **BUG)

    assert Stage.FAILED is failed.served.stage
    assert failed.served.failed_restore is None


def test_another_checkpoint_is_another_row() -> None:
    """Two that fail once each are no bad checkpoint."""
    once = failing(known(NEWEST), **BUG)
    other = Checkpoint(NEWEST + 1, "gs://c/4001")
    twice = failing(started(once.with_job(checkpoint=other)), **BUG)

    assert FailedRestore(NEWEST + 1, (1,)) == twice.served.failed_restore
    assert Stage.PREPARING is twice.served.stage


def test_a_checkpoint_made_just_before_a_silent_loss_is_the_one_that_is_restored() -> None:
    """What the attempt found counts, not what was known when it was ordered."""
    once = failing(saving(known(3000), NEWEST), **BUG)
    twice = failing(started(once), **BUG)

    assert FailedRestore(NEWEST, (0, 1)) == twice.served.failed_restore


# --- What an attempt leaves ---------------------------------------------------------------------


def test_links_that_break_without_a_newer_checkpoint_end_in_a_crash_loop() -> None:
    """Five in a row; each is resumed until then."""
    now = known(NEWEST, failed_restore=None)
    stages = []
    for _ in range(FRUITLESS_MAX):
        now = failing(now, **LINK)
        stages.append(now.served.stage)
        now = started(now) if now.served.stage is Stage.PREPARING else now

    assert [Stage.PREPARING] * (FRUITLESS_MAX - 1) + [Stage.FAILED] == stages
    assert "5 attempts in a row left no newer checkpoint" in now.served.reason


def test_a_newer_checkpoint_before_a_preemption_ends_the_row_of_broken_links() -> None:
    """A loss is asked what it leaves, too."""
    now = started(failing(known(NEWEST), **LINK))
    assert 1 == now.served.spent.fruitless

    lost = settled(losing(saving(getting_to(now, NEWEST + 10), NEWEST + 10)))

    assert 0 == lost.served.spent.fruitless


def test_what_an_attempt_left_counts_once() -> None:
    """A slice that is lost while the next one is prepared proves nothing new."""
    now = saving(getting_to(known(NEWEST), NEWEST + 10), NEWEST + 10)
    ended = failing(now, **LINK)

    assert left_by(now, Cause.TRANSPORT).advanced
    assert Left() == left_by(ended, Cause.PREEMPTED)


def test_where_no_checkpoint_is_ever_seen_steps_are_what_counts() -> None:
    """A program whose checkpoints we cannot read is in no crash loop because of that."""
    now = getting_to(running(), 5)

    assert left_by(settled(now), Cause.TRANSPORT).moved
    assert not left_by(settled(running()), Cause.TRANSPORT).moved


@pytest.mark.parametrize("step, has_advanced", [(3400, False), (NEWEST, True)])
def test_after_a_chosen_step_the_newest_checkpoint_counts_only_when_it_was_reached(
    *, step: int, has_advanced: bool
) -> None:
    """The one that was given up is still there, and newer by its number."""
    now = known(3000, NEWEST, from_step=3000)
    now = saving(getting_to(now, step), NEWEST)

    assert has_advanced is left_by(now, Cause.ERROR).advanced


# --- Resumes ------------------------------------------------------------------------------------


def test_a_run_is_resumed_once_an_attempt_however_often_its_next_one_is_prepared() -> None:
    """A setup that fails and a slice that is lost in between are no resumes."""
    lost = settled(losing(known(NEWEST)))
    again = claimed(obeyed(lost, 1))
    lost_again = claimed(obeyed(settled(losing(again)), 2))

    assert 1 == lost.served.resumes == lost_again.served.resumes
    assert 1 == started(lost_again).attempts[-1].resumes


def test_what_never_started_has_nothing_to_resume() -> None:
    """A setup that fails, a slice that is lost before the first attempt."""
    preparing = claimed(submitted())
    slow = speaking(preparing, 0)
    limit_s = slow.policy.prepare_s + slow.spec.setup_timeout_s
    late = replace(slow, now=slow.later(limit_s))
    failed = decide(speaking(speaking(late, 0), 1))

    assert 1 == failed.served.spent.setups
    assert 0 == failed.served.resumes
    assert 0 == settled(losing(preparing)).served.resumes


def test_a_run_that_begins_anew_forgets_what_was_not_restored() -> None:
    """Its folder is empty."""
    now = known(3000, NEWEST, failed_restore=FailedRestore(NEWEST, (0,)))
    now = replace(now, job_spec=spec_of(rule="rerun"))
    job = failing(getting_to(now, NEWEST), **BUG).served

    assert ((), None, None) == (job.steps, job.failed_restore, job.earlier_step)
