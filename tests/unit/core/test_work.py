"""Work follows the wish: gangs start together, end together, and are judged once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.core import ordering
from shared.core.causes import Cause
from shared.core.decide import decide
from shared.core.hosts import Checkpoint, HostAttempt, HostSetup, Progress
from shared.core.situation import Situation
from shared.core.stages import Stage
from tests.unit.core.situations import (
    LOST_LINK,
    SHA256,
    again,
    all_ended,
    claimed,
    ended,
    later,
    losing,
    newest,
    obeyed,
    running,
    settled,
    speaking,
    spec_of,
    started,
    stopping,
    submitted,
    undead,
)


def preparing() -> Situation:
    """Lead the first attempt to where its hosts prepare."""
    return claimed(submitted())


def broken(now: Situation) -> Situation:
    """Let the setup fail on host 1, as it answers the newest mandate."""
    sequence = newest(now).mandate.sequence
    setup = HostSetup(spec=SHA256, exit_code=3, evidence="no such package")
    return speaking(now, 1, setup=setup, phase="idle", seen_sequence=sequence)


# --- Start --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"prepared": None}, id="not prepared"),
        pytest.param({"prepared": "b" * 64}, id="prepared for another spec"),
        pytest.param({"alive": True}, id="something lives there"),
        pytest.param({"notice": "maintenance"}, id="about to go"),
    ],
)
def test_one_host_that_is_not_ready_keeps_the_gang_from_starting(
    changes: dict[str, object],
) -> None:
    """They start together or not at all."""
    now = obeyed(preparing())

    assert 0 == decide(now).served.attempt
    assert -1 == decide(speaking(now, 1, **changes)).served.attempt


def test_a_start_names_the_boots_that_are_prepared() -> None:
    """A host that reboots before it reads the mandate starts nothing."""
    writer = decide(obeyed(preparing())).served.writer

    assert writer is not None
    assert {"0": "boot-1-0-0", "1": "boot-1-0-1"} == writer.boots


def test_a_prepared_gang_waits_for_the_last_writer() -> None:
    """It is ready, and says so, and does not start."""
    now = undead()
    assert (Stage.PREPARING, 2) == (now.served.stage, now.served.attempt)
    assert now.served.prepared_at is not None

    after = decide(obeyed(now, 2))

    assert (Stage.RUNNING, 3) == (after.served.stage, after.served.attempt)


def test_how_far_the_end_of_a_gang_had_come_says_nothing_of_the_next_attempt() -> None:
    """Stopped while its gang was being ended, and resumed: it starts as any other."""
    ending = settled(ended(running(), 0, exit_code=1))
    assert (Stage.RUNNING, "ending: host 0 ended") == (ending.served.stage, ending.served.summary)

    stopped = settled(ordering.stop(ending, kill=False))
    resumed = started(settled(obeyed(again(stopped))))

    assert (Stage.RUNNING, 3) == (resumed.served.stage, resumed.served.attempt)
    assert "start" == newest(resumed).mandate.action


def test_an_attempt_starts_from_the_newest_checkpoint_or_the_chosen_step() -> None:
    """The chosen one stays chosen until a newer checkpoint is complete."""
    saved = Checkpoint(40, "gs://c/40")
    now = obeyed(preparing().with_job(checkpoint=saved))

    newest_, chosen = decide(now), decide(now.with_job(from_step=20))

    assert newest_.attempt is not None
    assert chosen.attempt is not None
    assert (40, None) == (newest_.attempt.start_step, newest_.attempt.from_step)
    assert (20, 20, 20) == (
        chosen.attempt.start_step,
        chosen.attempt.from_step,
        chosen.served.from_step,
    )


# --- End ----------------------------------------------------------------------------------------


def test_one_failure_stops_the_others_at_once() -> None:
    """Their mandate is idle in the same decision, with the gang's short grace."""
    now = decide(ended(running(), 0, exit_code=1))

    order = newest(now).mandate
    assert ("idle", now.policy.gang_grace_s) == (order.action, order.grace_s)
    assert Stage.RUNNING is now.served.stage


def test_a_gang_is_judged_when_all_ended_or_ten_seconds_later() -> None:
    """A host that says nothing more does not hold up the judgement."""
    now = settled(ended(running(), 0, exit_code=1, evidence=LOST_LINK))
    ending = now.served.ending
    assert ending is not None

    at_9_s = replace(now, now=ending.since + (later(now, 9.0).now - now.now))
    at_10_s = replace(now, now=ending.since + (later(now, 10.0).now - now.now))

    assert Stage.RUNNING is decide(at_9_s).served.stage
    assert Stage.PREPARING is decide(at_10_s).served.stage
    assert Stage.PREPARING is decide(ended(now, 1, signal=15, told=True)).served.stage


def test_a_success_is_recorded_with_its_time_and_without_a_reason() -> None:
    """On all hosts, of their own accord."""
    after = decide(all_ended(running().with_job(reason="an older one"), exit_code=0))

    job, attempt = after.served, after.attempts[-1]
    assert (Stage.SUCCEEDED, Cause.SUCCEEDED, 0) == (job.stage, job.cause, job.exit_code)
    assert (after.now, after.now, "") == (job.ended_at, attempt.ended_at, job.reason)


def test_a_host_that_finishes_first_is_no_failure() -> None:
    """The others may go on for their grace; after it the gang hangs."""
    now = settled(ended(running(), 1, exit_code=0))
    assert now.served.ending is None

    late = later(now, now.spec.finish_grace_s)
    ending = decide(late).served.ending

    assert ending is not None
    assert ending.cause
    assert Stage.SUCCEEDED is decide(ended(now, 0, exit_code=0)).served.stage


def test_a_gang_that_hangs_at_its_end_is_judged_so() -> None:
    """Whatever its hosts exit with when they are stopped."""
    now = settled(ended(running(), 1, exit_code=0))
    hanging = settled(later(now, now.spec.finish_grace_s))

    after = decide(obeyed(hanging))

    assert after.attempt is not None
    assert Cause.HANG is after.attempt.cause


def test_exit_0_after_being_told_is_drained_whichever_host_was_told() -> None:
    """One host finished by itself, the other when it was told: the work is not complete."""
    now = running()
    for index, told in ((0, False), (1, True)):
        attempt = HostAttempt(now.served.id, 2, ended_at=now.now, exit_code=0, told=told)
        now = speaking(now, index, attempt=attempt, alive=False)

    decided = decide(now)

    assert decided.attempt is not None
    assert Cause.DRAINED is decided.attempt.cause
    assert Stage.PREPARING is decided.served.stage


def test_a_host_that_rebooted_under_the_job_ended_its_attempt() -> None:
    """Nothing of the attempt is left there."""
    now = settled(speaking(running(), 1, boot="anew", attempt=HostAttempt(), alive=False))

    after = decide(ended(now, 0, signal=15, told=True))

    assert after.attempt is not None
    assert (Cause.REBOOTED, 1) == (after.attempt.cause, after.attempt.cause_host)


@pytest.mark.parametrize("step, stage", [(40, Stage.FAILED), (41, Stage.PREPARING)])
def test_a_failure_is_resumed_only_from_a_newer_checkpoint(step: int, stage: Stage) -> None:
    """Newer than the one that the attempt started from."""
    now = obeyed(preparing().with_job(checkpoint=Checkpoint(40, "gs://c/40")))
    now = later(obeyed(settled(now)))

    saved = speaking(now, 0, checkpoint=Checkpoint(step, f"gs://c/{step}"))

    assert stage is decide(all_ended(saved, exit_code=1)).served.stage


def test_a_rerun_writes_where_nothing_was_written() -> None:
    """A new run, no checkpoint, no resumes."""
    now = replace(running(), job_spec=spec_of(rule="rerun"))
    run = now.served.run
    saved = speaking(now, 0, checkpoint=Checkpoint(9, "gs://c/9"))

    job = decide(all_ended(saved, exit_code=1)).served

    assert (run + 1, 0, None) == (job.run, job.resumes, job.checkpoint)


def test_a_rule_that_recreates_condemns_the_slice() -> None:
    """The same loss as any other, with the cause in its name."""
    now = replace(running(), job_spec=spec_of(on={"error": "recreate"}))

    after = decide(all_ended(now, exit_code=1))

    assert (Stage.RECOVERING, 3) == (after.served.stage, after.slice.generation)
    assert "error" == newest(after).cause


# --- Setup --------------------------------------------------------------------------------------


def test_a_setup_that_fails_is_tried_three_times() -> None:
    """Each time with a new mandate; the last words of the setup are kept."""
    now = preparing()
    sequences = []
    for _ in range(3):
        assert Stage.PREPARING is now.served.stage
        sequences.append(newest(now).mandate.sequence)
        now = settled(broken(now))

    assert sorted(set(sequences)) == sequences
    assert (Stage.FAILED, Cause.SETUP, 3) == (
        now.served.stage,
        now.served.cause,
        now.served.exit_code,
    )
    assert "no such package" == now.served.evidence


def test_a_failure_of_the_last_setup_is_not_counted_for_the_new_one() -> None:
    """The host says it until it has read the next mandate."""
    once = settled(broken(preparing()))

    assert 1 == decide(once).served.spent.setups


def test_a_setup_that_takes_too_long_has_failed() -> None:
    """Half an hour for everything else, on top of its own timeout; unless a host is silent."""
    now = preparing()
    limit_s = now.policy.prepare_s + now.spec.setup_timeout_s
    late = later(now, limit_s)

    slow = decide(speaking(speaking(late, 0), 1))

    assert 0 == decide(later(now, limit_s - 2.0)).served.spent.setups
    assert (1, Stage.PREPARING) == (slow.served.spent.setups, slow.served.stage)
    assert Stage.RECOVERING is decide(speaking(late, 0)).served.stage


# --- Late words ---------------------------------------------------------------------------------


def test_a_late_word_of_an_ended_attempt_is_recorded_and_moves_nothing() -> None:
    """Its newest checkpoint is where the next one starts."""
    lost = settled(losing(running()))
    saved = Checkpoint(70, "gs://c/70")
    hosts = tuple(
        replace(host, checkpoint=saved, progress=Progress(70)) if host.key == "g2-b0-0" else host
        for host in lost.hosts
    )

    after = decide(replace(lost, hosts=hosts))

    assert (lost.served.stage, saved) == (after.served.stage, after.served.checkpoint)
    assert after.attempt is not None
    assert 70 == after.attempt.last_step


def test_an_attempt_ends_once() -> None:
    """What happens to its slice afterwards is not its cause."""
    now = settled(losing(stopping()))
    done = settled(obeyed(now))

    assert (Stage.CANCELLED, Cause.DRAINED) == (done.served.stage, done.attempts[-1].cause)
    ends = [attempt.ended_at for attempt in started(preparing()).attempts]
    assert [None] == ends
