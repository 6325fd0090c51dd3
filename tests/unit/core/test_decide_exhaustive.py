"""Every stage meets everything that can come to be known, with every number.

Stage by what a host says, by generation and attempt (older, equal, newer), by what the cloud shows.
The claims stand in ``claims``; each case here says which numbers may matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from shared.core.decide import decide
from shared.core.model import Spent
from shared.core.situation import Situation
from shared.core.stages import TERMINAL, Stage
from tests.unit.core import claims
from tests.unit.core.facts import FACTS, LOOKS, NOTHING, Fact, Look, look_at, tell
from tests.unit.core.situations import SCENES, later

NUMBERS = {"older": -1, "equal": 0, "newer": 1}
SPENT = Spent(
    preemptions=10_000,
    failures=10_000,
    setups=10_000,
    bad_nodes=10_000,
    echoes=10_000,
    hangs=10_000,
    locks=10_000,
    fruitless=10_000,
)
# A newer checkpoint renews what is counted in a row.
UNRENEWED = [fact for fact in FACTS if fact.name != "checkpoint"]
HOSTS = {"one host": (0,), "all hosts": (0, 1)}


@cache
def scene(name: str) -> Situation:
    """Play a scene once."""
    return later(SCENES[name]())


@cache
def without(name: str, look: Look, generation: int, hosts: tuple[int, ...]) -> Situation:
    """Decide about a scene and a look, with the same hosts speaking but saying nothing new."""
    now = scene(name)
    seen = look_at(now, look, now.slice.generation)
    return decide(tell(seen, NOTHING, generation, now.served.attempt, hosts))


def silent(now: Situation) -> Situation:
    """Leave out what hosts said."""
    return replace(now, hosts=())


def cases(fact: Fact) -> Iterator[tuple[str, str, str]]:
    """Yield generation, attempt and hosts: how many speak matters for what is equal alone."""
    for generation in NUMBERS:
        for attempt in NUMBERS if fact.has_attempt else ("equal",):
            yield generation, attempt, "all hosts"
    yield "equal", "equal", "one host"


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.name)
@pytest.mark.parametrize("name", SCENES)
def test_whatever_is_heard_and_seen_every_claim_holds(name: str, fact: Fact) -> None:
    """No case raises, every case comes to rest, and numbers decide what may matter."""
    for case in cases(fact):
        for look in LOOKS:
            check_case(name, fact, look, case)


def check_case(name: str, fact: Fact, look: Look, case: tuple[str, str, str]) -> None:
    """Decide one case and check all claims."""
    generation, attempt, hosts = case
    now = scene(name)
    number = now.slice.generation + NUMBERS[generation]
    tried = now.served.attempt + NUMBERS[attempt]
    before = tell(look_at(now, look, now.slice.generation), fact, number, tried, HOSTS[hosts])
    after, quiet = decide(before), without(name, look, number, HOSTS[hosts])

    claims.check(before, after)
    if silent(after) != silent(quiet):
        claims.comes_to_rest(after)
    # No host can speak of a number before it was committed: ``report`` parks what tries to.
    if number > after.slice.generation or tried > after.served.attempt:
        assert silent(quiet) == silent(after), f"{case}, {look.name}: nobody is there yet"
    is_proof = may_prove(now, fact, look, number if hosts == "all hosts" else None)
    claims.starts_only_after_a_death(before, after, may_be_dead=is_proof)
    if "older" in {generation, attempt} and not is_proof:
        assert quiet.served.stage is after.served.stage, f"{case}, {look.name}: it is over"


def may_prove(now: Situation, fact: Fact, look: Look, number: int | None) -> bool:
    """Tell whether a look, or a fact that all hosts of a generation say, may prove a death."""
    writer = now.writer
    if writer is None:
        return False
    is_heard = fact.is_proof and writer.generation == number
    return is_heard or (look.is_proof and writer.generation == now.slice.generation)


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
@pytest.mark.parametrize("name", SCENES)
def test_a_look_at_an_older_generation_decides_nothing_but_deaths(name: str, look: Look) -> None:
    """What shows an old bid may bury it or prove its writer dead; it moves no job otherwise."""
    now = scene(name)
    before = look_at(now, look, now.slice.generation - 1)
    after, quiet = decide(before), decide(now)
    writer = now.writer
    is_proof = look.is_proof and writer is not None and writer.generation < now.slice.generation

    claims.check(before, after)
    claims.comes_to_rest(after)
    claims.starts_only_after_a_death(before, after, may_be_dead=is_proof)
    if not is_proof:
        assert quiet.served.stage is after.served.stage


@pytest.mark.parametrize("fact", [NOTHING, *UNRENEWED], ids=lambda fact: fact.name)
@pytest.mark.parametrize("name", SCENES)
def test_whatever_comes_a_job_without_budgets_starts_nothing_more(name: str, fact: Fact) -> None:
    """Every claim holds with all budgets used up, and what ends then ends for good."""
    now = scene(name).with_job(spent=SPENT)
    now = tell(now, fact, now.slice.generation, now.served.attempt, HOSTS["all hosts"])
    for look in LOOKS:
        before = look_at(now, look, now.slice.generation)
        after = decide(before)

        claims.check(before, after)
        claims.comes_to_rest(after)
        is_ordered = now.served.ending is not None and now.served.ending.is_ordered
        if Stage.RUNNING in {before.served.stage, now.served.stage} and not is_ordered:
            assert after.served.stage in {Stage.RUNNING, *TERMINAL}, look.name
        assert SPENT == after.served.spent


@pytest.mark.parametrize("can_judge_silence", [False, True])
@pytest.mark.parametrize("name", SCENES)
def test_time_alone_breaks_no_claim(name: str, *, can_judge_silence: bool) -> None:
    """Nothing ever happens any more: at every due time all claims hold, and none is in the past."""
    now = replace(scene(name), can_judge_silence=can_judge_silence)
    for _ in range(60):
        after = decide(now)
        claims.check(now, after)
        claims.comes_to_rest(after)
        if after.slice.due_at is None:
            break
        now = replace(after, now=after.slice.due_at, notes=(), ledger=())
