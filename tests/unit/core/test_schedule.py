"""Every wait has a due time: the tick alone would bring each situation on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from shared.core.decide import decide
from shared.core.schedule import has_open_intents, schedule, uncreated
from shared.core.situation import Situation
from shared.core.stages import Stage
from tests.unit.core.situations import (
    claimed,
    ended,
    failed,
    granted,
    later,
    newest,
    recovering,
    running,
    settled,
    spec_of,
    stopping,
    submitted,
)

LEASE_S = 3600.0 + 60.0


def due_s(now: Situation, since: datetime) -> float:
    """Return the due time, counted from some moment."""
    due_at = schedule(now).slice.due_at
    assert due_at is not None, "somebody must look again"
    return (due_at - since).total_seconds()


def known(when: datetime | None) -> datetime:
    """Return a time that is known in a scene."""
    assert when is not None, "the scene has got that far"
    return when


def finishing() -> Situation:
    """Let one of two hosts finish; silence is further away than its grace here."""
    now = settled(ended(running(), 0, exit_code=0))
    return replace(now, job_spec=spec_of(finish_grace_s=60.0))


def late_setup() -> Situation:
    """Prepare where no host has spoken, so that nothing else is waited for."""
    return replace(claimed(submitted()), hosts=())


def patient(now: Situation) -> Situation:
    """Let people have been told that the job is stuck: nobody looks again for that."""
    return now.with_job(stuck_since=now.served.stage_since)


WAITS: dict[str, tuple[Callable[[], Situation], Callable[[Situation], datetime | None], float]] = {
    "an open intent": (lambda: decide(submitted()), lambda now: now.now, 45.0),
    "a boot": (
        lambda: granted(settled(submitted())),
        lambda now: newest(now).bids[0].ready_at,
        900.0,
    ),
    "a hold": (lambda: replace(failed(), hosts=()), lambda now: now.slice.held_until, 0.0),
    "silence": (running, lambda now: now.hosts[-1].received_at, 300.0),
    "a judgement": (
        lambda: settled(ended(running(), 0, exit_code=1)),
        lambda now: now.served.ending.since if now.served.ending else None,
        10.0,
    ),
    "the other hosts": (finishing, lambda now: now.served.finishing_since, 60.0),
    "a setup": (late_setup, lambda now: now.served.prepare_since, 1800.0 + 1800.0),
    "a lease": (
        lambda: patient(replace(stopping(), hosts=())),
        lambda now: now.served.writer.end_written_at if now.served.writer else None,
        LEASE_S,
    ),
    "a wait that is too long": (
        lambda: settled(submitted()),
        lambda now: now.served.stage_since,
        3600.0,
    ),
}


def alone(now: Situation) -> Situation:
    """Leave out generations that are being deleted: they wait for something as well."""
    return now.with_slice(generations=now.slice.generations[-1:])


@pytest.mark.parametrize("name", WAITS)
def test_each_wait_is_due_when_it_ends(name: str) -> None:
    """Counted from the moment at which it began."""
    make, begins, wait_s = WAITS[name]
    now = alone(make())

    assert wait_s == due_s(now, known(begins(now)))


def test_a_delete_is_due_when_it_may_begin() -> None:
    """At once without a notice; a delete that was sent is looked after 45 s later."""
    now = recovering()

    assert 1.0 == due_s(now, now.now)
    sent = now.now
    for generation in now.slice.generations:
        for bid in generation.bids:
            if bid.is_condemned:
                now = now.with_bid(generation, replace(bid, deleted_at=sent))
    assert 45.0 == due_s(now, sent)


def test_nothing_is_created_before_the_first_mandate_is_written() -> None:
    """A host that boots must find what it is to do, and whose it is."""
    now = decide(submitted())
    first = newest(now)
    written = replace(first, mandate=replace(first.mandate, written=first.mandate.sequence))

    assert [] == uncreated(now)
    assert 1 == len(uncreated(now.with_generation(written)))


def test_a_wait_that_is_over_is_looked_at_a_second_later() -> None:
    """Never in the past: a due time that nothing meets must not spin."""
    now = later(replace(failed(), hosts=()), 86_400.0)

    assert 1.0 == due_s(now, now.now)


def test_looks_that_come_often_do_not_put_off_what_is_over() -> None:
    """A tick that looks twice a second would otherwise never find it due."""
    now = decide(later(replace(failed(), hosts=()), 86_400.0))

    again = decide(later(now, 0.5))

    assert now.slice.due_at == again.slice.due_at


def test_deciding_again_postpones_no_open_intent() -> None:
    """Messages that come all the time would keep the tick from ever looking."""
    now = decide(submitted())
    due_at = now.slice.due_at

    again = decide(later(now, 30.0))

    assert has_open_intents(again)
    assert due_at == again.slice.due_at


def test_what_is_gone_is_never_due() -> None:
    """Nothing looks at it any more."""
    now = decide(submitted()).with_slice(live=False)

    assert schedule(now).slice.due_at is None


def test_a_slice_of_which_nothing_is_waited_for_is_not_due() -> None:
    """Capacity comes when it comes: the listing of every tick sees it."""
    now = patient(settled(submitted()))

    assert decide(now).slice.due_at is None
    assert Stage.PROVISIONING is now.served.stage


@pytest.mark.parametrize("make", [recovering, stopping])
def test_whoever_waits_for_a_death_is_due_at_the_end_of_the_lease(
    make: Callable[[], Situation],
) -> None:
    """Nothing else might ever come."""
    now = patient(replace(make(), hosts=()))
    now = now.with_slice(generations=(), due_at=None)
    writer = now.writer
    assert writer is not None, "its writer is not known to be dead"

    assert LEASE_S == due_s(now, known(writer.end_written_at))


def test_silence_is_looked_for_at_a_bounded_rate() -> None:
    """Hosts that are silent for long, and may not be judged, do not make every second due."""
    now = later(alone(running()), 7200.0)

    assert now.policy.silent_host_s / 10 == due_s(now, now.now)
