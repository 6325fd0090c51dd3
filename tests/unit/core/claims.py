"""What must be true of every decision, whatever it was made from: one function a claim."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce

from shared.core.decide import decide
from shared.core.schedule import has_open_intents
from shared.core.situation import Situation
from shared.core.slices import Bid, Generation, Mandate
from shared.core.stages import Event, Stage, advance

_ANY_TIME = datetime.min.replace(tzinfo=UTC)


def check(before: Situation, after: Situation) -> None:
    """Check all claims on one decision."""
    stages_follow_the_table(before, after)
    numbers_grow_by_one(before, after)
    one_bid_serves(after)
    cancelled_means_dead(after)
    a_changed_mandate_has_a_higher_sequence(before, after)
    condemned_stays_condemned(before, after)
    what_is_open_is_due(after)


def comes_to_rest(after: Situation) -> None:
    """Deciding again changes nothing and tells nothing."""
    quiet = replace(after, notes=(), ledger=())

    assert quiet == decide(quiet)


def stages_follow_the_table(before: Situation, after: Situation) -> None:
    """The events that were told lead from the old stage to the new one; the end is left by none."""
    if before.job is None or after.job is None:
        assert before.job == after.job
        return
    told = after.notes[len(before.notes) :]
    events = [note.event for note in told if isinstance(note.event, Event)]

    assert after.job.stage is reduce(advance, events, before.job.stage)
    assert not (before.job.is_over and events), "the end is left by users alone"


def numbers_grow_by_one(before: Situation, after: Situation) -> None:
    """One decision makes at most one generation and one attempt, and each loss one generation."""
    grown = after.slice.generation - before.slice.generation
    assert grown in {0, 1}
    lost = before.slice.current is not None and after.slice.current != before.slice.current
    if lost and after.stands_at(Stage.RECOVERING, Stage.PROVISIONING, Stage.PREPARING):
        number = after.slice.current.number if after.slice.current else None
        assert number in {before.slice.generation, before.slice.generation + 1}
    for generation in after.slice.generations:
        assert generation.is_condemned or generation.number == after.slice.generation
    if before.job is None or after.job is None:
        return
    assert after.job.attempt - before.job.attempt == len(after.attempts) - len(before.attempts)
    assert after.job.attempt - before.job.attempt in {0, 1}


def starts_only_after_a_death(before: Situation, after: Situation, *, may_be_dead: bool) -> None:
    """The next attempt starts only when the last writer was dead, or a proof of it came."""
    if before.served.attempt < after.served.attempt:
        assert before.served.writer_is_dead or may_be_dead
    if not may_be_dead and not before.served.writer_is_dead:
        assert not after.served.writer_is_dead


def one_bid_serves(after: Situation) -> None:
    """Where one bid was claimed, all others are condemned."""
    for generation in after.slice.generations:
        wanted = {bid.id for bid in generation.bids if not bid.is_condemned}
        assert not generation.claimed or wanted <= {generation.claimed}


def cancelled_means_dead(after: Situation) -> None:
    """Nobody is told that a job is stopped while anything of it may write."""
    if after.job is not None and after.job.stage is Stage.CANCELLED:
        assert after.job.writer_is_dead


def a_changed_mandate_has_a_higher_sequence(before: Situation, after: Situation) -> None:
    """Same sequence, same order; agents go by nothing else."""
    for old, new in _both(before, after):
        assert new.mandate.sequence >= old.mandate.sequence
        if new.mandate.sequence == old.mandate.sequence:
            assert _content(old.mandate) == _content(new.mandate)


def condemned_stays_condemned(before: Situation, after: Situation) -> None:
    """What shall go goes; a condemned generation is told to end, for good."""
    for old, new in _both(before, after):
        assert new.is_condemned or not old.is_condemned
        for bid, same in zip(old.bids, new.bids, strict=False):
            assert _is_kept(bid, same)
    for generation in after.slice.generations:
        assert ("end" == generation.mandate.action) == generation.is_condemned
        assert all(bid.is_condemned for bid in generation.bids) or not generation.is_condemned


def what_is_open_is_due(after: Situation) -> None:
    """Every intent is looked at again within 45 s; what is gone is never due."""
    due_at = after.slice.due_at
    if not after.slice.live:
        assert due_at is None
    elif has_open_intents(after):
        assert due_at is not None
        assert due_at <= after.later(after.policy.intent_due_s)
    if due_at is not None:
        assert due_at > after.now


def _is_kept(old: Bid, new: Bid) -> bool:
    is_same = (old.id, old.name) == (new.id, new.name)
    return is_same and (new.condemned_at == old.condemned_at or not old.is_condemned)


def _both(before: Situation, after: Situation) -> Iterator[tuple[Generation, Generation]]:
    for old in before.slice.generations:
        new = after.generation(old.number)
        if new is not None:
            yield old, new


def _content(order: Mandate) -> Mandate:
    """Leave out how far an order has been carried."""
    return replace(order, written=0, rung=0, rings=False, ordered_at=_ANY_TIME)
