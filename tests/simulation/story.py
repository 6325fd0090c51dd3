"""The story of a seed that failed: made as small as it can be, and told in the order of time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from tests.fake_world import FAKE_START
from tests.simulation.chance import Fault

if TYPE_CHECKING:
    from tests.simulation.run import Result
    from tests.simulation.world import Size

LINES_MAX: Final = 60
_JOB: Final = re.compile(r"\b(?:job|warm|same)[a-z0-9]{8,9}\b")
_NUMBER: Final = re.compile(r"\d+")


def smallest(result: Result, size: Size) -> Result:
    """Leave out one kind of fault after another, as long as the same thing goes wrong."""
    from tests.simulation.run import live

    without: frozenset[Fault] = frozenset(set(Fault) - result.world.chance.faults)
    kind = _kind(result)
    for fault in sorted(result.world.chance.faults):
        tried = live(result.seed, size, without=without | {fault})
        if tried.wrong and _kind(tried) == kind:
            result, without = tried, without | {fault}
    return result


def told(result: Result) -> Iterator[str]:
    """Tell what went wrong, which faults it takes, and what happened to the job until then."""
    world = result.world
    yield from (f"  wrong: {wrong}" for wrong in result.wrong[:5])
    for fault in sorted(world.chance.faults, key=lambda each: each.name):
        times = world.chance.met[fault]
        if times:
            yield f"  needs: {fault} ({times} times)"
    found = _JOB.search(result.wrong[0])
    lines = sorted(_timeline(result, found.group() if found else ""))
    yield from (f"  {line}" for line in lines[-LINES_MAX:])


def _timeline(result: Result, job: str) -> Iterator[str]:
    world = result.world
    for collection, documents in world.store.collections.items():
        if collection.endswith("/timeline") and (not job or job in collection):
            for document in documents.values():
                fields: Mapping[str, Any] = document.fields
                who = collection.split("/")[1]
                yield f"{_since(fields['at'])} {who} {fields['who']}: {fields['text']}"
    for key, lives in world.checks.history.lives.items():
        for life in lives if not job or key == job else ():
            yield f"{_clock(life.from_s)} {key} attempt {life.attempt} begins on {life.boot}"
            if life.until_s < float("inf"):
                yield f"{_clock(life.until_s)} {key} attempt {life.attempt} ends on {life.boot}"


def _kind(result: Result) -> str:
    """Tell one failure from another: the words without the numbers."""
    return _NUMBER.sub("#", result.wrong[0])[:60]


def _since(at: datetime) -> str:
    return _clock((at - FAKE_START).total_seconds())


def _clock(seconds: float) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes) // 60}:{int(minutes) % 60:02d}:{rest:05.2f}"
