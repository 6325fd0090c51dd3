"""Capacity is let go when nobody wants it, and believed gone when the cloud says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.core.causes import Cause
from shared.core.decide import decide
from shared.core.schedule import undeleted
from shared.core.situation import Situation
from shared.core.slices import BidStage, Kind
from shared.core.stages import Stage
from tests.unit.core.situations import (
    all_ended,
    cancelled,
    claimed,
    failed,
    later,
    losing,
    newest,
    obeyed,
    recovering,
    running,
    settled,
    spec_of,
    submitted,
)


def deleted(now: Situation, *, looks_s: float = 0.0) -> Situation:
    """Let every condemned bid be missing when it is looked for directly."""
    for generation in now.slice.generations:
        for bid in generation.bids:
            if bid.is_condemned and bid.gone_at is None:
                looks = {"absent_at": now.now, "absent_again_at": now.later(looks_s)}
                now = now.with_bid(generation, replace(bid, **looks))  # type: ignore[arg-type]
    return now


def stood(now: Situation, hold_s: float | None = None) -> Situation:
    """Let the program of a running job fail, with a hold of its own."""
    now = replace(now, job_spec=spec_of(hold_s=hold_s))
    return settled(obeyed(settled(all_ended(now, exit_code=1))))


def test_a_slice_is_held_after_a_failure_and_goes_when_its_time_is_up() -> None:
    """Half an hour for the fix, visible in the document."""
    now = failed()
    held_until = now.slice.held_until
    assert held_until is not None

    early = decide(replace(now, now=held_until + (now.now - later(now).now)))
    late = decide(replace(now, now=held_until))

    assert early.slice.wanted
    assert (False, True) == (late.slice.wanted, newest(late).is_condemned)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: settled(all_ended(running(), exit_code=0)), id="a success"),
        pytest.param(cancelled, id="a stop"),
        pytest.param(lambda: stood(running(), hold_s=0.0), id="a failure without a hold"),
    ],
)
def test_a_temporary_slice_goes_with_its_job(make: object) -> None:
    """Nobody pays for what nobody uses."""
    assert callable(make)
    now = make()

    assert (False, True) == (now.slice.wanted, newest(now).is_condemned)


def test_a_named_slice_stays_when_its_job_ends() -> None:
    """It waits for the next one, with nothing to do."""
    now = stood(running(Kind.NAMED))

    assert (True, False, "idle", "") == (
        now.slice.wanted,
        newest(now).is_condemned,
        newest(now).mandate.action,
        now.slice.job,
    )


def test_a_slice_that_was_lost_is_not_held() -> None:
    """There is nothing to fix anything on."""
    spec = spec_of(rule="pass", hold_s=600.0)

    now = settled(losing(replace(running(), job_spec=spec), Cause.DELETED))

    assert (Stage.FAILED, None, False) == (
        now.served.stage,
        now.slice.held_until,
        now.slice.wanted,
    )


def test_a_delete_waits_for_the_last_save_and_no_longer() -> None:
    """All hosts obeyed, nothing lives, logs are shipped: it may go at once."""
    now = settled(all_ended(running(), exit_code=0))
    assert [] == [bid.id for generation, bid in undeleted(now) if generation.number == 2]

    after = decide(obeyed(now))

    assert ["0"] == [bid.id for generation, bid in undeleted(after) if generation.number == 2]


def test_a_host_whose_logs_are_not_shipped_is_waited_for() -> None:
    """As long as the notice allows."""
    now = obeyed(settled(all_ended(running(), exit_code=0)))
    hosts = tuple(replace(host, attempt=replace(host.attempt, flushed=False)) for host in now.hosts)

    waiting = decide(replace(now, hosts=hosts))

    assert 2 not in {generation.number for generation, _ in undeleted(waiting)}
    late = later(waiting, waiting.policy.notice_s)
    assert 2 in {generation.number for generation, _ in undeleted(decide(late))}


def test_a_bid_that_was_seen_is_gone_with_the_first_404_and_its_cost_is_known() -> None:
    """From ready to gone, at the catalog's price."""
    now = deleted(obeyed(later(recovering(), 3600.0), 2))

    after = decide(now)

    lines = {line.generation: line for line in after.ledger}
    assert {1, 2} == set(lines)
    assert ("slice001-g2-b0", 8, "v4-16", "spot") == (
        lines[2].id,
        lines[2].chips,
        lines[2].accelerator_type,
        lines[2].tier,
    )
    assert after.now == lines[2].gone_at
    assert [] == list(decide(replace(after, ledger=())).ledger)


@pytest.mark.parametrize("looks_s, stage", [(599.0, "requested"), (600.0, "gone")])
def test_a_bid_that_was_never_seen_is_gone_only_after_ten_minutes(
    looks_s: float, stage: str
) -> None:
    """A create whose reply was lost may still take effect."""
    now = settled(submitted())
    bid = replace(newest(now).bids[0], stage=BidStage.REQUESTED, condemned_at=now.now)
    bid = replace(bid, delete_after=now.now)

    after = decide(deleted(now.with_bid(newest(now), bid), looks_s=looks_s))

    assert stage == newest(after).bids[0].stage


def test_a_bid_that_was_never_asked_for_is_gone_at_once() -> None:
    """Nothing is created before the first mandate is written."""
    asked = decide(submitted())
    stopped = asked.with_slice(wanted=False)

    after = decide(stopped.with_job(stage=Stage.FAILED))

    assert [] == undeleted(after)
    assert BidStage.GONE is newest(after).bids[0].stage


def test_an_old_generation_is_forgotten_when_it_is_over_everywhere() -> None:
    """In the cloud, in the bucket, and for the writer."""
    now = settled(deleted(recovering()))
    assert [2, 3] == [generation.number for generation in now.slice.generations]
    assert now.slice.generations[0].bids[0].gone_at is None, "two absences may prove a death"

    after = settled(obeyed(now, 2))

    assert [3] == [generation.number for generation in after.slice.generations]


def test_a_slice_is_gone_when_nothing_of_it_is_left() -> None:
    """And not before: its name stands for something until then."""
    now = cancelled()
    assert now.slice.live

    after = settled(deleted(now))

    assert (False, None, ()) == (after.slice.live, after.slice.due_at, after.slice.generations)


def test_a_slice_that_nobody_wants_asks_for_nothing() -> None:
    """Not even when its last generation is lost."""
    now = claimed(submitted(Kind.NAMED)).with_slice(wanted=False, job="")
    now = decide(losing(replace(now, job=None, job_spec=None)))

    assert 1 == now.slice.generation
    assert newest(now).is_condemned
