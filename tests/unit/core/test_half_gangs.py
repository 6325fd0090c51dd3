"""A gang of which a host cannot read its orders does not wait for ever."""

from __future__ import annotations

from dataclasses import replace

from shared.core.causes import Cause
from shared.core.decide import decide
from shared.core.situation import Situation
from shared.core.stages import Stage
from tests.unit.core.situations import later, newest, obeyed, running, settled, speaking


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
