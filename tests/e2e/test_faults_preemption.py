"""Slices are taken away, with and without a word: one generation each, and on from the save."""

from collections.abc import Iterator

import pytest

from sandbox import control
from shared.core.causes import Cause
from tests.installations import Installation, Work, assert_never_two, running, until
from tests.steps import SAVE_EVERY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Give the installation that the tests of this file share; each uses jobs of its own."""
    with running(tmp_path_factory.mktemp("preemption") / "home") as installation:
        yield installation


def test_silent_preemption_costs_one_generation(installation: Installation) -> None:
    """Nobody was told; the next attempt goes on from the newest checkpoint."""
    work = installation.run("silent")
    work.until_saved(0)
    node = work.node

    installation.tpuctl("sandbox", "preempt", node, "--silent")
    work.until_saved(1)
    job = work.finish()

    _assert_went_on(work)
    assert 1 == job.spent.preemptions
    assert [] == work.entries(0, what="told")
    # The last step it wrote down may, or may not, have been saved before the power went.
    last = work.entries(0, host=0, what="step")[-1].step
    newest = last - last % SAVE_EVERY
    begun = {entry.step for entry in work.entries(1, host=0, what="start")}
    assert begun in ({newest}, {newest - SAVE_EVERY})


def test_noticed_preemption_costs_one_generation(installation: Installation) -> None:
    """The workload saves when it is told, and exactly that save is gone on from."""
    work = installation.run("noticed")
    work.until_saved(0)
    node = work.node

    installation.tpuctl("sandbox", "preempt", node, "--notice-s", "2")
    work.until_saved(1)
    work.finish()

    _assert_went_on(work)
    (told,) = work.entries(0, host=0, what="told")
    assert [told.step] == [entry.step for entry in work.entries(1, host=0, what="start")]
    assert told.step == work.attempts[1].start_step
    assert [f"{node} will be taken away"] == work.told("NoticeGiven")


def test_preemption_before_the_start_costs_no_attempt(installation: Installation) -> None:
    """The first generation never gets beyond its setup: it is replaced, nothing was started."""
    gate = installation.home / "gate"
    setup = f'until [ -e "{gate}" ]; do sleep 0.05; done'
    work = installation.run("early-loss", "--setup", setup)
    work.until("preparing")

    control.preempt(installation.home / "sandbox", work.node, notice=False)
    until(lambda: work.slice.generation == 2)
    gate.touch()
    work.until_saved(0)
    job = work.finish()

    assert (0, 0, 1) == (job.attempt, job.resumes, job.spent.preemptions)
    assert [(0, 2)] == [(attempt.number, attempt.generation) for attempt in work.attempts]
    assert [] == work.told("WriterDead")[:-1]
    assert 1 == len(work.entries(0, host=0, what="start"))
    assert 2 == installation.creates(_prefix(work))


def _assert_went_on(work: Work) -> None:
    """Two generations with one attempt each; the second began where the first had saved."""
    first, second = work.attempts
    assert [(1, Cause.PREEMPTED), (2, Cause.SUCCEEDED)] == [
        (attempt.generation, attempt.cause) for attempt in work.attempts
    ]
    assert 2 == work.slice.generation == work.installation.creates(_prefix(work))
    assert first.checkpoint_step is not None
    saved = second.start_step
    assert saved is not None
    assert saved >= first.checkpoint_step
    # The hosts may find a newer save than the last one that was reported.
    assert all(entry.step >= saved > 0 for entry in work.entries(1, what="start"))
    assert_never_two(work)


def _prefix(work: Work) -> str:
    """What the names of all bids for the job's slice begin with."""
    settings = work.installation.opened.settings
    return f"tpuctl-{settings.installation}-{work.slice.uid}-"
