"""Live through seeds, and say what was wrong with one: the story, made small."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from shared.core import situation
from shared.core.stages import Event, Stage
from tests.simulation.chance import Fault
from tests.simulation.claims import Violation
from tests.simulation.ending import faults_at_the_end
from tests.simulation.engine import Restless
from tests.simulation.memory import remembering
from tests.simulation.world import Size, World

_PUSH: Final = "tpuctl.push"
SIZE: Final = Size()
# A job that ends in the last minute has its slice deleted after it, and a gang its grace.
LONGER_S: Final = 900.0
LONGER_MAX: Final = 4


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a seed; ``wrong`` is empty when all is well."""

    seed: int
    wrong: tuple[str, ...]
    world: World = field(repr=False)

    @property
    def met(self) -> Counter[Fault]:
        """How often each fault happened."""
        return self.world.chance.met


def live(seed: int, size: Size = SIZE, *, without: frozenset[Fault] = frozenset()) -> Result:
    """Live through one seed."""
    with _overheard(World(seed, size, without=without)) as world:
        try:
            world.live()
            wrong = tuple(_left_over(world))
        except (Violation, Restless) as violation:
            at = f"after {world.engine.now / 3600:.2f} h"
            return Result(seed, (f"{violation} ({at})",), world)
    return Result(seed, wrong, world)


def _left_over(world: World) -> list[str]:
    """Say what is wrong at the end; what only began shortly before it is given its time."""
    for _ in range(LONGER_MAX):
        found = faults_at_the_end(world)
        if not found:
            return []
        world.go_on(LONGER_S)
    return faults_at_the_end(world)


def quieten() -> None:
    """Let functions log nothing: a world has millions of lines, and asks the documents instead."""
    log = logging.getLogger("tpuctl")
    log.setLevel(logging.CRITICAL)
    log.propagate = False
    logging.getLogger(_PUSH).setLevel(logging.ERROR)


@contextmanager
def _overheard(world: World) -> Iterator[World]:
    """Hear of errors that nobody thought of: functions log them, and ask for the message again."""
    ear = _Ear(world)
    log = logging.getLogger(_PUSH)
    log.addHandler(ear)
    log.propagate = False
    try:
        with remembering(), _counted(world):
            yield world
    finally:
        log.removeHandler(ear)
        log.propagate = True


@contextmanager
def _counted(world: World) -> Iterator[None]:
    """Count the steps of the table of stages that are taken."""
    names = vars(situation)
    advance = names["advance"]

    def counting(stage: Stage, event: Event) -> Stage:
        world.checks.history.steps[stage, event] += 1
        following: Stage = advance(stage, event)
        return following

    names["advance"] = counting
    try:
        yield
    finally:
        names["advance"] = advance


class _Ear(logging.Handler):
    def __init__(self, world: World) -> None:
        super().__init__(logging.ERROR)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self._world.found_bug(record.exc_info[1])
