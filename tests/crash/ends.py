"""What became of a world, in the words of the invariants; and which faults may change it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from shared.core.alert_kinds import AlertKind
from shared.core.causes import Cause
from shared.core.codec import from_fields
from shared.core.model import Attempt, Job, Spent
from shared.core.stages import Stage
from shared.errors import InvalidRequest, NoAccess, NotAuthorized, Permanent
from tests.crash.points import Point, told
from tests.crash.worlds import CheapWorld

# What people are told of the control plane itself, when something goes wrong in it.
OUR_OWN: Final = frozenset({AlertKind.CONTROL_PLANE_DEGRADED, AlertKind.CONTROL_PLANE_RESTORED})
REFUSALS: Final = frozenset({NoAccess, NotAuthorized, InvalidRequest})


@dataclass(frozen=True, slots=True)
class JobEnd:
    """How a job ended: its attempts by cause, and what was spent on them."""

    id: str
    number: int
    stage: Stage
    cause: Cause | None
    reason: str
    attempts: tuple[tuple[int, Cause | None], ...]
    resumes: int
    run: int
    spent: Spent
    step: int | None


@dataclass(frozen=True, slots=True)
class End:
    """What is left at the end: ``slices`` is by name and number of generations."""

    jobs: tuple[JobEnd, ...]
    slices: tuple[tuple[str, int], ...]
    orders: tuple[tuple[str, str, str], ...]
    grants: tuple[str, ...]
    told: tuple[tuple[str, int], ...]
    parked: int
    is_paused: bool


def end_of(world: CheapWorld) -> End:
    """Read what became of a world that came to rest."""
    jobs = [from_fields(Job, each) for each in world.all("jobs")]
    return End(
        jobs=tuple(_job_end(world, job) for job in jobs),
        slices=tuple(
            (str(each["name"]), _number(each["generation"])) for each in world.all("slices")
        ),
        orders=tuple(
            (str(each["id"]), str(each["outcome"]), str(each["reason"]))
            for each in world.all("commands")
            if str(each["id"]).startswith("the-")
        ),
        grants=tuple(str(each["id"]) for each in world.all("grants")),
        told=_told(world),
        parked=len(world.all("parked")),
        is_paused=world.store.get("control/pause") is not None,
    )


def check_end(points: Sequence[Point], expected: End, end: End) -> None:
    """Hold an end against the one without faults.  Raises AssertionError."""
    refused = [point for point in points if _is_refused(point)]
    if refused and end.jobs and end.jobs[-1].stage is Stage.FAILED:
        reasons = {told(point) for point in refused}
        assert end.jobs[-1].reason in reasons, f"it says what was refused: {end.jobs[-1].reason}"
        expected = _failed(expected, end)
    if any(_is_unseen(point) for point in points):
        expected = _unadopted(expected, end)
    permanent = sum(
        point.error is not None and issubclass(point.error, Permanent) for point in points
    )
    assert expected.parked <= end.parked <= expected.parked + permanent, f"{end.parked} parked"
    differences = list(_differences(expected, end))
    assert not differences, f"it ends otherwise: {differences}"


def _differences(expected: End, end: End) -> Iterator[str]:
    for each in fields(End):
        before, after = getattr(expected, each.name), getattr(end, each.name)
        if each.name != "parked" and before != after:
            yield f"{each.name}: {after}, not {before}"


def check_invariants(world: CheapWorld) -> None:
    """Attempts and generations are numbered and explained, and nothing is left over."""
    assert not world.watch.violations, world.watch.violations
    assert () == world.slices.names, "no orphan"
    assert [] == world.all("outbox"), "everything was published"
    for each in world.all("jobs"):
        _check_attempts(world, from_fields(Job, each))
    claims = [
        str(each["text"])
        for job in world.all("jobs")
        for each in world.all(f"jobs/{job['id']}/timeline")
        if "serves the slice" in str(each["text"])
    ]
    assert len(claims) == len(set(claims)), f"a bid was claimed twice: {claims}"
    parked = [(str(each["source"]), str(each["data"])) for each in world.all("parked")]
    assert len(parked) == len(set(parked)), f"parked twice: {parked}"


def _check_attempts(world: CheapWorld, job: Job) -> None:
    attempts = _attempts(world, job)
    numbers = [attempt.number for attempt in attempts]
    assert list(range(job.attempt + 1)) == numbers, f"attempts {numbers} of {job.attempt}"
    assert all(attempt.cause is not None for attempt in attempts), "every attempt has a cause"
    assert job.writer_is_dead, "nobody may write any more"
    ledger = [each for each in world.all("ledger") if each["job"] == job.id]
    assert len(ledger) == len({str(each["id"]) for each in ledger}), "nothing is counted twice"


def _attempts(world: CheapWorld, job: Job) -> list[Attempt]:
    return world.attempts(job.id)


def _job_end(world: CheapWorld, job: Job) -> JobEnd:
    return JobEnd(
        id=job.id,
        number=job.number,
        stage=job.stage,
        cause=job.cause,
        reason=job.reason,
        attempts=tuple((each.generation, each.cause) for each in _attempts(world, job)),
        resumes=job.resumes,
        run=job.run,
        spent=job.spent,
        step=job.checkpoint.step if job.checkpoint else None,
    )


def _told(world: CheapWorld) -> tuple[tuple[str, int], ...]:
    """Count what people were told; the same alert may come twice."""
    counts = Counter(str(each["kind"]) for each in world.all("told") if each["kind"] not in OUR_OWN)
    return tuple(sorted(counts.items()))


def _number(value: object) -> int:
    assert isinstance(value, int), "a generation is a number"
    return value


def _is_refused(point: Point) -> bool:
    """The cloud refuses for good what is asked of it."""
    return point.call == "slices.create" and point.error in REFUSALS


def _is_unseen(point: Point) -> bool:
    """Nobody may look at what is to be adopted."""
    return point.call == "slices.find" and point.error in REFUSALS


def _unadopted(expected: End, end: End) -> End:
    """Then its adoption is refused, with the reason."""
    refused = [order for order in end.orders if "cannot be looked at: injected" in order[2]]
    return replace(expected, orders=end.orders, slices=()) if refused else expected


def _failed(expected: End, end: End) -> End:
    """A create that is refused in every zone ends its job there and then, and says so."""
    last = expected.jobs[-1]
    newest = replace(
        last,
        stage=Stage.FAILED,
        cause=None,
        reason=end.jobs[-1].reason,
        attempts=last.attempts[:-1],
    )
    assert ("failed", 1) in end.told, "its owner hears of it"
    return replace(
        expected, jobs=(*expected.jobs[:-1], newest), told=end.told, is_paused=end.is_paused
    )
