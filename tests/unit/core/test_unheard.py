"""Whose silence would count, and that it does not count before somebody listened."""

from dataclasses import replace

from shared.core.decide import decide
from shared.core.situation import Situation
from shared.core.slices import View
from shared.core.unheard import unheard
from tests.unit.core.situations import (
    booted,
    claimed,
    granted,
    later,
    running,
    settled,
    speaking,
    submitted,
)


def test_nobody_who_speaks_is_unheard() -> None:
    """Nor anybody who was heard a moment ago."""
    now = running()

    assert frozenset() == unheard(later(now, now.policy.silent_host_s / 2))


def test_whoever_stopped_speaking_is_unheard_and_nobody_else() -> None:
    """Each host by itself."""
    now = later(running(), running().policy.silent_host_s)

    assert frozenset({("0", 0), ("0", 1)}) == unheard(now)
    assert frozenset({("0", 1)}) == unheard(speaking(now, 0))


def test_whoever_never_spoke_is_unheard_once_all_should_have_booted() -> None:
    """Before that it may still boot."""
    now = half_booted()

    assert frozenset() == unheard(speaking(later(now, now.policy.boot_s / 2), 0))
    assert frozenset({("0", 1)}) == unheard(speaking(later(now, now.policy.boot_s), 0))


def test_whoever_fell_silent_before_the_claim_is_unheard() -> None:
    """The last boot, the claim and the judgement may be one decision."""
    now = replace(booted(granted(settled(submitted()))), can_judge_silence=True)
    silent = later(now, now.policy.silent_slice_s)

    assert frozenset({("0", 0), ("0", 1)}) == unheard(silent)
    assert View.READY is verdict_after(replace(silent, has_listened=not unheard(silent)))
    assert View.LOST is verdict_after(silent)


def test_no_silence_counts_before_somebody_listened() -> None:
    """Neither while it runs, nor while it prepares, nor while it boots."""
    running_ = replace(running(), can_judge_silence=True)
    preparing = claimed(submitted())
    prepare_s = preparing.policy.prepare_s + preparing.spec.setup_timeout_s
    silent = [
        later(running_, running_.policy.silent_slice_s),
        later(preparing, prepare_s),
        later(half_booted(), half_booted().policy.boot_s),
    ]

    for now in silent:
        assert View.READY is verdict_after(replace(now, has_listened=False))
        assert View.LOST is verdict_after(now)


def verdict_after(now: Situation) -> View:
    """Decide, and return what is said of the bid that was there."""
    generation = decide(now).generation(now.slice.generation)
    assert generation is not None, "a generation that was just lost is kept"
    return generation.bids[0].verdict


def half_booted() -> Situation:
    """Grant a slice of which the first host alone has spoken."""
    now = granted(settled(submitted()))
    return replace(now, hosts=booted(now).hosts[:1])
