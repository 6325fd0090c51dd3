"""A gang of which a host cannot begin does not wait for ever."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from shared.core.causes import Cause
from shared.core.decide import decide
from shared.core.hosts import HostSetup
from shared.core.situation import Situation
from shared.core.stages import Stage
from tests.unit.core.situations import SHA256, later, newest, obeyed, running, settled, speaking


def half() -> Situation:
    """Let host 1 have missed the start."""
    now = running()
    writer = now.served.writer
    assert writer is not None, "a running job has a writer"
    before = {"seen_sequence": writer.start_sequence - 1, "alive": False, "phase": "prepared"}
    now = speaking(now, 1, **before)
    host = now.hosts[-1]
    unstarted = replace(host.attempt, job="", number=-1, started_at=None)
    return speaking(now, 1, attempt=unstarted)


def test_a_host_that_speaks_and_has_not_seen_the_start_ends_the_gang() -> None:
    """It is cut off from its orders; the others are stopped at once."""
    now = later(half(), start_s())
    now = settled(speaking(now, 1))

    assert now.served.ending is not None
    assert Cause.CUT_OFF is now.served.ending.cause
    assert "idle" == newest(now).mandate.action


def test_its_cause_is_cut_off_and_the_job_goes_on() -> None:
    """The others were told to go, and that is not why."""
    now = settled(speaking(later(half(), start_s()), 1))
    now = later(now, now.policy.judge_s)
    now = decide(obeyed(now))

    assert Stage.PREPARING is now.served.stage
    assert Cause.CUT_OFF is now.attempts[-1].cause


def test_a_host_that_is_not_heard_may_well_have_started() -> None:
    """Its reports may be what is lost: silence is judged elsewhere, and later."""
    now = settled(later(half(), start_s()))

    assert now.served.ending is None


def start_s() -> float:
    """How long a host that speaks may take to read the start."""
    return running().policy.start_s


def test_a_report_that_comes_late_does_not_say_what_was_read_since() -> None:
    """It was published before the start: a backlog of reports ends nobody's gang."""
    now = half()
    early = now.attempts[-1].ordered_at

    now = settled(speaking(later(now, start_s()), 1, published_at=early))

    assert now.served.ending is None


def test_nobody_can_have_read_a_start_that_is_not_written() -> None:
    """Its writing may be what is late: a host has its time from when it stood there."""
    now = half()
    now = now.with_writer(start_written_at=None)
    order = newest(now).mandate
    unwritten = replace(newest(now), mandate=replace(order, written=order.sequence - 1))
    now = decide(speaking(later(now.with_generation(unwritten), start_s()), 1))
    assert now.served.ending is None

    written = decide(now.with_generation(replace(unwritten, mandate=order)))
    assert settled(speaking(later(written, start_s() - 1), 1)).served.ending is None

    ended = settled(speaking(later(written, start_s()), 1)).served.ending
    assert ended is not None
    assert Cause.CUT_OFF is ended.cause


def unstarted(**changes: object) -> Situation:
    """Let the agent of host 1 come back between its preparation and the start."""
    now = half()
    writer = now.served.writer
    assert writer is not None, "a running job has a writer"
    return speaking(now, 1, seen_sequence=writer.start_sequence, **{"prepared": None, **changes})


def test_a_host_that_has_read_the_start_and_does_not_obey_ends_the_gang() -> None:
    """Whatever keeps it: the others would wait for it for ever."""
    now = settled(speaking(later(unstarted(phase="booted"), start_s()), 1))

    assert now.served.ending is not None
    assert Cause.CUT_OFF is now.served.ending.cause
    assert "host 1 does not start" == now.served.ending.why


def test_a_host_that_prepares_again_is_waited_for() -> None:
    """Its setup has a time limit of its own."""
    now = settled(speaking(later(unstarted(phase="preparing"), start_s()), 1))

    assert now.served.ending is None


def test_a_host_that_could_not_prepare_again_ends_the_gang_at_once() -> None:
    """That is a setup that failed, and is tried again like one."""
    setup = HostSetup(SHA256, exit_code=3, evidence="no such package")
    now = settled(unstarted(phase="booted", setup=setup))
    assert now.served.ending is not None
    assert "host 1 could not start" == now.served.ending.why

    after = decide(obeyed(later(now, now.policy.judge_s)))

    assert (Stage.PREPARING, Cause.SETUP, 1) == (
        after.served.stage,
        after.attempts[-1].cause,
        after.served.spent.setups,
    )
    assert (1, 3) == (after.attempts[-1].cause_host, after.attempts[-1].exit_code)


def test_somebody_looks_again_when_a_host_has_read_the_start_only() -> None:
    """Nothing else may happen there any more."""
    now = decide(unstarted(phase="booted"))
    written_at = now.served.writer.start_written_at if now.served.writer else None
    assert written_at is not None
    assert now.slice.due_at is not None

    assert now.slice.due_at <= written_at + timedelta(seconds=start_s() + now.policy.snapshot_s)
