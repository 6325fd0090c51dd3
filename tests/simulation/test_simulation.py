"""The real use cases in simulated worlds: nothing that goes wrong breaks what was promised."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator

import pytest

from shared.core.limits import Limits
from tests.simulation.chance import Fault
from tests.simulation.run import Result, live, quieten
from tests.simulation.story import told
from tests.simulation.world import storm_of

BATCH = 5
CREATES_PER_MINUTE = Limits().creates_per_minute
# What draws chance with every call, so that a tick more or less makes another world.
OF_CALLS = frozenset(
    {
        Fault.DEATHS,
        Fault.ZOMBIES,
        Fault.INTERLEAVING,
        Fault.LOST_REPLIES,
        Fault.STORE_ERRORS,
        Fault.TICK_TWICE,
        Fault.DEPLOYS,
        Fault.API_ERRORS,
        Fault.STALE_LISTINGS,
        Fault.PARTIAL_LISTINGS,
        Fault.LOSS,
        Fault.DUPLICATES,
        Fault.LATE_MESSAGES,
        Fault.REORDERING,
    }
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Log nothing, and leave other tests their logs."""
    logs = [logging.getLogger(name) for name in ("tpuctl", "tpuctl.push")]
    before = [(log.level, log.propagate) for log in logs]
    quieten()
    yield
    for log, (level, propagate) in zip(logs, before, strict=True):
        log.setLevel(level)
        log.propagate = propagate


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 40, BATCH))
def test_every_world_comes_to_a_good_end(first: int) -> None:
    """Five jobs, three hours of chaos, three of calm: no invariant breaks, nothing is left."""
    for seed in range(first, first + BATCH):
        result = live(seed)

        assert () == result.wrong, "\n".join([f"seed {seed}", *told(result)])


def test_a_seed_is_the_same_world_every_time() -> None:
    """Or no failure could be lived through again."""
    first, second = live(7), live(7)

    assert _facts(first) == _facts(second)
    assert first.world.engine.steps == second.world.engine.steps


def test_other_seeds_are_other_worlds() -> None:
    """Or a thousand of them would prove no more than one."""
    assert len({live(seed).world.engine.steps for seed in range(4)}) == 4


@pytest.mark.parametrize("seed", [1, 6, 13])
def test_ticks_that_are_not_run_would_have_changed_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A world in which every tick is run has the same jobs, attempts and checkpoints."""
    skipping = live(seed, without=OF_CALLS)
    monkeypatch.setattr("tests.simulation.world.World._is_quiet", lambda _: False)
    running = live(seed, without=OF_CALLS)

    assert skipping.world.ticks_skipped > 0
    assert 0 == running.world.ticks_skipped
    assert _facts(skipping) == _facts(running)


@pytest.mark.slow
def test_a_storm_over_many_slices_ends_well() -> None:
    """All slices of all zones are lost together, and every job comes to its end."""
    size = storm_of(100)

    result = live(0, size, without=frozenset(Fault))

    assert () == result.wrong, "\n".join(told(result))
    assert result.met[Fault.STORMS] >= 50, "so many were lost"
    minutes = Counter(int(at_s // 60) for at_s, _ in result.world.cloud.creates)
    assert max(minutes.values()) <= CREATES_PER_MINUTE


def _facts(result: Result) -> object:
    jobs = [document.fields for document in result.world.store.documents("jobs")]
    return (
        sorted((job["id"], str(job["stage"]), job["attempt"], job["reason"]) for job in jobs),
        {
            folder: [step for _, _, step in saves]
            for folder, saves in result.world.checks.history.saves.items()
        },
    )
