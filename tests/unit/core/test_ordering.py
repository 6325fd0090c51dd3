"""Orders are refused for a reason that their owner can read, or change what is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from shared.core import ordering
from shared.core.identity import Bounds
from shared.core.model import FailedRestore, Spent
from shared.core.ordering import Again, Refused
from shared.core.situation import Situation
from shared.core.slices import Kind, Slice
from shared.core.spec import JobSpec, spec_sha256
from shared.core.stages import TERMINAL, Stage
from tests.unit.core.situations import (
    JOB,
    SCENES,
    SPEC,
    START,
    WORLD,
    cancelled,
    elsewhere,
    failed,
    running,
    spec_of,
    stopping,
    submitted,
)


def again(now: Situation, **changes: object) -> Situation:
    """Order a resume."""
    order = Again(now.served.attempt, None, None, presume_dead=False, is_rerun=False)
    return ordering.again(now, replace(order, **changes))  # type: ignore[arg-type]


VISION = Bounds("vision@p", "teams/vision/")
RESUME = Again(2, None, None, presume_dead=False, is_rerun=False)


def owned() -> Slice:
    """Give a free slice of a team."""
    free = replace(running().slice, job="")
    return replace(free, worker_account=VISION.worker_account, folder=VISION.folder)


def take(bounds: Bounds) -> Slice:
    """Put somebody's job on a team's slice."""
    return ordering.take_slice(owned(), SPEC, "new", bounds)


REFUSALS: dict[str, tuple[Callable[[], object], str]] = {
    "a type is missing": (
        lambda: ordering.new_slice("n", "u", "o", spec_of(accelerator_type=None), WORLD, START),
        "names no accelerator type: say --type, or --on SLICE",
    ),
    "a slice that is gone": (
        lambda: ordering.take_slice(replace(running().slice, live=False), SPEC, "new"),
        "slice hi-1 is being deleted",
    ),
    "a slice that is going": (
        lambda: ordering.take_slice(replace(running().slice, wanted=False), SPEC, "new"),
        "slice hi-1 is being deleted",
    ),
    "a busy slice": (
        lambda: ordering.take_slice(running().slice, SPEC, "new"),
        "slice hi-1 is busy with another job",
    ),
    "another type": (
        lambda: ordering.take_slice(
            replace(running().slice, job=""), spec_of(accelerator_type="v4-8"), "new"
        ),
        "slice hi-1 is a v4-16, not a v4-8",
    ),
    "another account": (
        lambda: take(Bounds("text@p", VISION.folder)),
        "slice hi-1 runs as vision@p, the job would as text@p: teams share no slices",
    ),
    "another account than the default one": (
        lambda: take(Bounds()),
        (
            "slice hi-1 runs as vision@p, the job would as the project's default account: "
            "teams share no slices"
        ),
    ),
    "another folder": (
        lambda: take(Bounds("vision@p")),
        (
            "slice hi-1 reads and writes in teams/vision/, the job would in no team's folder: "
            "teams share no slices"
        ),
    ),
    "resuming without its checkpoints": (
        lambda: ordering.move(failed().served, owned(), SPEC, RESUME),
        (
            "job 1 kept its checkpoints in no team's folder and would go on in teams/vision/, "
            "without them: rerun it, or name a copy as checkpoint_dir"
        ),
    ),
    "stopping what is over": (
        lambda: ordering.stop(cancelled(), kill=False),
        "job 1 has ended already: cancelled",
    ),
    "resuming what runs": (
        lambda: ordering.check_again(running().served, Again(2, None, None, False, False)),
        "job 1 has not ended: running; tpuctl stop 1",
    ),
    "resuming what one did not see": (
        lambda: ordering.check_again(failed().served, Again(1, None, None, False, False)),
        "job 1 is at attempt 2 by now, not 1",
    ),
    "releasing what is gone": (
        lambda: ordering.release(running().with_slice(live=False)),
        "slice hi-1 is gone already",
    ),
    "releasing what works": (
        lambda: ordering.release(running()),
        "slice hi-1 is busy with job 1: tpuctl stop 1 first",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_says_why(name: str) -> None:
    """One sentence for the person who asked."""
    order, reason = REFUSALS[name]

    with pytest.raises(Refused) as caught:
        order()

    assert str(caught.value).endswith(reason)


@pytest.mark.parametrize("name", SCENES)
def test_a_job_that_works_can_be_stopped_and_one_that_ends_can_go_on(name: str) -> None:
    """One on its way out takes both: stopping twice is once, and going on need not wait."""
    now = SCENES[name]()
    job = now.served
    order = Again(job.attempt, None, None, presume_dead=False, is_rerun=False)

    if job.stage in TERMINAL:
        with pytest.raises(Refused):
            ordering.stop(now, kill=False)
    else:
        assert Stage.STOPPING is ordering.stop(now, kill=False).served.stage
    if job.stage in {*TERMINAL, Stage.STOPPING}:
        ordering.check_again(job, order)
    else:
        with pytest.raises(Refused):
            ordering.check_again(job, order)


def test_killing_what_is_being_stopped_takes_back_its_grace() -> None:
    """And a later stop does not give it again."""
    killed = ordering.stop(stopping(), kill=True)

    assert killed.served.kill
    assert ordering.stop(killed, kill=False).served.kill


def test_a_resume_keeps_the_run_and_a_rerun_begins_a_new_one() -> None:
    """The folders of the old run are neither used nor touched."""
    now = failed()
    job = now.served

    resumed, rerun = again(now).served, again(now, is_rerun=True).served

    assert (job.run, job.resumes + 1) == (resumed.run, resumed.resumes)
    assert (job.run + 1, 0, None) == (rerun.run, rerun.resumes, rerun.checkpoint)


def test_a_job_that_never_started_resumes_nothing() -> None:
    """Its first attempt is a first attempt."""
    now = submitted().with_job(stage=Stage.FAILED)

    assert 0 == again(now).served.resumes


def test_an_order_to_go_on_gives_new_budgets_and_forgets_the_end() -> None:
    """Attempt numbers go on: they are what fences."""
    job = again(failed().with_job(spent=Spent(failures=3), kill=True)).served

    assert (Stage.QUEUED, Spent(), 2) == (job.stage, job.spent, job.attempt)
    assert (None, None, "", "", None, False) == (
        job.cause,
        job.exit_code,
        job.reason,
        job.evidence,
        job.ended_at,
        job.kill,
    )


def test_a_job_can_go_on_with_a_new_spec_from_a_chosen_step() -> None:
    """Its hash is what hosts prepare for."""
    spec = spec_of(command=["train", "--lr=1"])

    now = again(failed(), spec=spec, from_step=40)

    assert (spec_sha256(spec), 40) == (now.served.spec_sha256, now.served.from_step)
    assert spec == now.spec


@pytest.mark.parametrize("presumes, dead", [(True, "presumed"), (False, "")])
def test_only_its_owners_word_makes_a_writer_dead(*, presumes: bool, dead: str) -> None:
    """Without it the next attempt waits for a proof."""
    now = elsewhere().with_job(stage=Stage.FAILED)

    writer = again(now, presume_dead=presumes).served.writer

    assert writer is not None
    assert dead == writer.dead


def test_a_proof_is_not_replaced_by_a_presumption() -> None:
    """What is known is known better."""
    writer = again(cancelled(), presume_dead=True).served.writer

    assert writer is not None
    assert "acknowledged" == writer.dead


def test_a_free_slice_is_taken_and_is_held_no_longer() -> None:
    """Its time is up when its next job ends."""
    slice_ = replace(failed(Kind.NAMED).slice, job="", held_until=START)

    taken = ordering.take_slice(slice_, spec_of(accelerator_type=None), JOB)

    assert (JOB, None) == (taken.job, taken.held_until)


def test_a_slice_is_taken_by_its_own_team() -> None:
    """Same account, same folder."""
    assert "new" == take(VISION).job


@pytest.mark.parametrize(
    "changes, order, spec",
    [
        pytest.param({}, replace(RESUME, is_rerun=True), SPEC, id="a rerun begins anew"),
        pytest.param({"attempt": -1}, RESUME, SPEC, id="nothing was written yet"),
        pytest.param({}, RESUME, spec_of(checkpoint_dir="gs://bucket/copy"), id="a copy is named"),
        pytest.param({"folder": VISION.folder}, RESUME, SPEC, id="its own team's slice"),
    ],
)
def test_a_job_follows_its_slice_into_the_folder(
    changes: dict[str, object], order: Again, spec: JobSpec
) -> None:
    """Where nothing of its own is lost by that."""
    job = replace(failed().served, **changes)  # type: ignore[arg-type]

    moved = ordering.move(job, owned(), spec, order)

    assert (VISION.folder, owned().uid) == (moved.folder, moved.slice_uid)


@pytest.mark.parametrize("job", ["", JOB], ids=["no job", "one that is over"])
def test_a_slice_that_nobody_uses_is_let_go(job: str) -> None:
    """A held one too, and one whose job has ended and whose hosts have not said so yet."""
    released = ordering.release(failed().with_slice(job=job, held_until=START))

    assert (False, None) == (released.wanted, released.held_until)


@pytest.mark.parametrize("from_step, steps", [(None, (20, 30, 40)), (30, (20, 30)), (10, ())])
def test_what_comes_after_a_chosen_step_is_given_up(
    from_step: int | None, steps: tuple[int, ...]
) -> None:
    """And what could not be restored is asked again, by an order alone."""
    now = failed().with_job(steps=(20, 30, 40), failed_restore=FailedRestore(40, (1, 2)))
    job = again(now, from_step=from_step).served

    assert (steps, from_step, None) == (job.steps, job.from_step, job.failed_restore)


def test_a_stop_of_a_job_whose_slice_is_held_says_how_to_let_it_go() -> None:
    """It costs, and the job is over."""
    with pytest.raises(Refused, match=r"already: failed; .* tpuctl slice rm hi-1"):
        ordering.stop(failed(), kill=False)
