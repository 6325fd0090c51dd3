"""The protocol page says which effects are intents, whose, and how long: a case a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from shared.app.commit import LAUNCH, RECOVERY, _wakes
from shared.core import ordering
from shared.core.decide import decide
from shared.core.schedule import uncreated, undeleted, unrung, unwritten
from shared.core.situation import Situation
from shared.core.slices import BidStage
from shared.topology import Topic
from tests.unit.core.situations import claimed, later, newest, recovering, running, submitted
from tests.unit.docs.tables import page, rows

INTENTS = {row[0]: row[2] for row in rows(page("protocol.md"), "intent", "open while")}
OPEN: Mapping[str, tuple[Callable[[], Situation], Callable[[Situation], object]]] = {
    "write the mandate": (lambda: decide(submitted()), unwritten),
    "ring the bell": (lambda: unheard(running()), unrung),
    "create a bid": (lambda: decide(uncreated_bid()), uncreated),
    "delete a bid": (lambda: decide(later(recovering(), 120.0)), undeleted),
}


def unheard(now: Situation) -> Situation:
    """Let a mandate be written after a start, and nobody ring yet."""
    now = decide(ordering.stop(now, kill=False))
    order = newest(now).mandate
    return now.with_generation(replace(newest(now), mandate=replace(order, written=order.sequence)))


def uncreated_bid() -> Situation:
    """Let the first mandate be written, and nobody create yet."""
    now = decide(submitted())
    order = newest(now).mandate
    return now.with_generation(replace(newest(now), mandate=replace(order, written=1)))


def test_every_intent_has_a_case() -> None:
    """Publishing is the outbox's, and shown by its own tests."""
    assert [name for name in INTENTS if name != "publish"] == list(OPEN)


@pytest.mark.parametrize("name", OPEN)
def test_an_open_intent_wakes_its_owner_and_nobody_else(name: str) -> None:
    """Each row: whoever opens it wakes the owner, once, and the owner need not be woken."""
    make, find = OPEN[name]
    now, owner = make(), INTENTS[name]
    topic = Topic.LAUNCHES if owner == LAUNCH else Topic.PREEMPTIONS

    before = done(now)
    assert find(now)
    assert topic in {wake.topic for wake in _wakes(before, now, "health_check")}
    assert topic not in {wake.topic for wake in _wakes(before, now, owner)}
    assert topic not in {wake.topic for wake in _wakes(now, now, "health_check")}
    assert owner in {LAUNCH, RECOVERY}


@pytest.mark.parametrize("name", OPEN)
def test_an_intent_that_was_carried_out_is_not_open(name: str) -> None:
    """Each effect leaves a mark that closes its intent."""
    make, find = OPEN[name]

    assert not find(done(make()))


def done(now: Situation) -> Situation:
    """Mark everything as done."""
    for generation in now.slice.generations:
        order = generation.mandate
        order = replace(order, written=order.sequence, rung=order.sequence)
        now = now.with_generation(replace(generation, mandate=order))
        for bid in generation.bids:
            changes = replace(bid, stage=BidStage.REQUESTED, deleted_at=now.now)
            now = now.with_bid(generation, changes)
    return now


def test_the_bell_is_rung_only_for_agents_that_look_rarely() -> None:
    """After a start or an idle; agents that prepare look twice a second."""
    preparing = claimed(submitted())
    stopped_early = unheard(preparing)

    assert [] == unrung(stopped_early)
    assert [2] == [generation.number for generation in unrung(unheard(running()))]
