"""Capacity follows the wish: bids are lost, followed by others, claimed, and replaced."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.core.capacity import take_announcement, take_word
from shared.core.causes import Cause
from shared.core.decide import decide
from shared.core.situation import Situation
from shared.core.slices import BidStage, Kind, View
from shared.core.stages import Stage
from tests.unit.core.situations import (
    bid_of,
    booted,
    claimed,
    granted,
    later,
    losing,
    newest,
    race,
    recovering,
    running,
    settled,
    speaking,
    submitted,
    with_bid,
)

ZONES = ["us-east1-d", "us-east5-a", "us-east5-b"]


def wide(*, zones: int = 3) -> Situation:
    """Ask for one host in several zones."""
    return settled(submitted(accelerator_type="v6e-8", zones=ZONES[:zones]))


def zones_of(now: Situation) -> list[str]:
    """Return where the newest generation was asked for, in order."""
    return [bid.zone for bid in newest(now).bids]


def losing_early(now: Situation, **changes: object) -> Situation:
    """Let the newest bid fail, and the time pass after which another may be asked for."""
    lost = decide(with_bid(now, verdict=View.LOST, detail="no capacity", **changes))
    return settled(later(lost, 60.0))


def test_a_bid_that_fails_is_followed_by_one_in_the_next_zone() -> None:
    """Round and round, for as long as the slice is wanted."""
    now = wide()
    for _ in range(3):
        now = losing_early(now)

    assert [*ZONES, ZONES[0]] == zones_of(now)
    assert [True, True, True, False] == [bid.is_condemned for bid in newest(now).bids]


def test_another_bid_is_asked_for_no_sooner_than_after_a_minute() -> None:
    """A zone without capacity is not asked every second."""
    now = decide(with_bid(wide(), verdict=View.LOST, detail="no capacity"))

    assert 1 == len(newest(decide(later(now, 59.0))).bids)
    assert 2 == len(newest(decide(later(now, 60.0))).bids)
    assert now.later(60.0) >= (now.slice.due_at or now.now)


def test_what_every_zone_refuses_is_not_asked_for_again() -> None:
    """The job fails with the cloud's own words, after each zone had its turn."""
    now = losing_early(wide(zones=2), refused=True)
    assert Stage.PROVISIONING is now.served.stage

    now = settled(with_bid(now, verdict=View.LOST, detail="it may not be", refused=True))

    assert (Stage.FAILED, "it may not be") == (now.served.stage, now.served.reason)
    assert not now.slice.wanted
    assert 2 == len(newest(now).bids)


def test_capacity_that_runs_out_fails_no_job() -> None:
    """It waits, whatever its budgets."""
    now = wide()
    for _ in range(20):
        now = losing_early(now)

    assert Stage.PROVISIONING is now.served.stage
    assert 21 == len(newest(now).bids)


def test_the_first_bid_that_is_really_ready_is_claimed_and_the_others_go() -> None:
    """A race has one winner, in one commit with the losers' condemnation."""
    now = race()
    for bid in newest(now).bids:
        ready = replace(bid, verdict=View.READY, ready_at=now.now)
        is_first = bid.id == "1"
        now = now.with_bid(newest(now), replace(ready, booted_at=now.later(-9 if is_first else -5)))

    decided = decide(now)

    assert "1" == newest(decided).claimed
    assert ["lost the race"] == [
        bid.condemned_for for bid in newest(decided).bids if bid.is_condemned
    ]
    assert Stage.PREPARING is decided.served.stage


def test_a_node_that_is_ready_is_claimed_only_when_all_its_hosts_speak() -> None:
    """ACTIVE is not enough: a host may hang at its boot."""
    now = granted(settled(submitted()))
    half = replace(booted(now), hosts=booted(now).hosts[:1])

    assert "" == newest(decide(half)).claimed
    assert "0" == newest(decide(booted(now))).claimed


def test_a_lost_slice_is_wanted_again_in_the_same_decision() -> None:
    """The next generation is asked for while the old one is still there."""
    before = running()

    after = decide(losing(before))

    assert (before.slice.generation + 1, Stage.RECOVERING) == (
        after.slice.generation,
        after.served.stage,
    )
    assert BidStage.INTENDED is bid_of(after).stage
    assert "preempted" == newest(after).cause
    old = after.generation(before.slice.generation)
    assert old is not None
    assert old.is_condemned


@pytest.mark.parametrize("notice, cause", [("preempted", "preempted"), ("maintenance",) * 2])
def test_a_notice_loses_the_slice_at_once_and_deletes_it_later(notice: str, cause: str) -> None:
    """Its hosts may save their state; the next slice is asked for meanwhile."""
    after = decide(speaking(running(), 1, notice=notice))
    old = after.generation(2)

    assert old is not None
    assert (3, cause) == (after.slice.generation, old.bids[0].condemned_for)
    assert after.later(after.policy.notice_s) == old.bids[0].delete_after
    assert after.attempt is not None
    assert after.now == after.attempt.noticed_at


def test_a_silent_host_is_not_judged_while_reports_may_not_come_through() -> None:
    """Silence means something only beside canaries."""
    now = later(running(), 86_400.0)

    assert Stage.RUNNING is decide(now).served.stage
    assert Stage.RECOVERING is decide(replace(now, can_judge_silence=True)).served.stage


def test_a_kept_slice_is_wanted_again_without_a_job() -> None:
    """Until its owner lets it go, where it is kept; else it waits for an order or a job."""
    now = settled(losing(claimed(submitted(Kind.NAMED)).with_slice(job="")))
    idle = settled(replace(now.with_slice(keep=True), job=None, job_spec=None))

    after = settled(losing(settled(booted(granted(idle)))))

    assert idle.slice.generation + 1 == after.slice.generation
    assert idle.slice.generation == settled(losing(idle.with_slice(keep=False))).slice.generation


def test_a_job_whose_rule_is_stop_ends_with_its_slice() -> None:
    """Its owner is told, and nothing is asked for."""
    now = running()
    spec = now.spec.model_copy(update={"rule": "resume"})

    after = decide(losing(replace(now, job_spec=spec), Cause.DELETED))

    assert (Stage.FAILED, Cause.DELETED, 2) == (
        after.served.stage,
        after.served.cause,
        after.slice.generation,
    )


def test_a_request_that_never_appeared_is_followed_by_another() -> None:
    """Ten minutes of direct looks say that it is not coming."""
    now = settled(submitted())
    asked = with_bid(now, stage=BidStage.REQUESTED, absent_at=now.now)

    early = decide(with_bid(asked, absent_again_at=now.later(599.0)))
    late = decide(with_bid(asked, absent_again_at=now.later(600.0)))

    assert View.PENDING is bid_of(early).verdict
    assert "it never appeared" == newest(late).bids[0].detail
    assert newest(late).bids[0].is_condemned


def test_a_lost_slice_counts_one_preemption() -> None:
    """Whatever else is known by then."""
    before, after = running().served.spent, recovering().served.spent

    assert replace(before, preemptions=before.preemptions + 1) == after


WORD = {"zone": bid_of(running()).zone, "detail": "audit log: x"}


def told(now: Situation, number: int = 2, bid: str = "0", **changes: str) -> Situation:
    """Let Google's audit log say that a VM of the running job's slice is gone."""
    word = {**WORD, **changes}
    return take_word(now, number, bid, cause=Cause.HOST_LOST, **word)


def test_a_word_of_the_audit_log_loses_the_slice_at_once_and_deletes_it_later() -> None:
    """As a host's own notice does: others may save their state."""
    after = decide(told(running()))
    old = after.generation(2)

    assert old is not None
    assert (3, "host_lost") == (after.slice.generation, old.bids[0].condemned_for)
    assert after.later(after.policy.notice_s) == old.bids[0].delete_after
    assert after.now == old.noticed_at


@pytest.mark.parametrize(
    "number, bid, zone",
    [
        pytest.param(1, "0", WORD["zone"], id="an older generation"),
        pytest.param(3, "0", WORD["zone"], id="a newer generation"),
        pytest.param(2, "1", WORD["zone"], id="another bid"),
        pytest.param(2, "0", "us-east1-d", id="another zone"),
    ],
)
def test_a_word_about_something_else_changes_nothing(number: int, bid: str, zone: str) -> None:
    """A name of a VM is found, but it is not this one."""
    now = running()

    assert now == told(now, number, bid, zone=zone)
    assert now == take_announcement(now, number, bid, zone=zone, detail="ahead")


def test_a_word_that_comes_again_changes_nothing() -> None:
    """Nor does one about what was lost by another sign: the first sign is the cause."""
    once = told(running())
    before = losing(running())

    assert once == told(once)
    assert before == told(before)


def test_a_word_about_a_bid_that_was_let_go_changes_nothing() -> None:
    """It shall go anyway, whatever becomes of it."""
    now = running()
    condemned = with_bid(now, condemned_at=now.now, condemned_for="lost the race")
    gone = with_bid(now, stage=BidStage.GONE)

    assert condemned == told(condemned)
    assert gone == told(gone)


def test_an_announcement_is_noted_once_and_loses_nothing() -> None:
    """It stands at the bid until another one comes."""
    now = running()
    word = {"zone": WORD["zone"], "detail": "maintenance is announced"}
    once = take_announcement(now, 2, "0", **word)

    assert ["MaintenanceAhead"] == [note.event for note in once.notes]
    assert once == take_announcement(once, 2, "0", **word)
    assert View.READY is bid_of(decide(once)).verdict
    assert 2 == decide(once).slice.generation
