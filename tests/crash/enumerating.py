"""Injects one fault after another into one invocation, and sees that the world survives each.

The world is prepared once and copied for each fault. After the fault the message comes again,
two ticks follow, and then everything goes on in peace until nothing is left to do. What became
of it must be what becomes of it without the fault, but for what ``ends`` allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from shared.app import health_check, push
from shared.app.context import App
from shared.errors import ControlPlaneError
from shared.ports import Delivery
from tests.crash.ends import End, check_end, check_invariants, end_of
from tests.crash.faults import Death
from tests.crash.peace import come_to_rest
from tests.crash.points import Point, Tap, points_of, tapped
from tests.crash.use_cases import TICK, UseCase
from tests.crash.worlds import CheapWorld, fingerprint

# Far more than any invocation needs here, and a bound none the less.
CALLS_MAX = 250


@dataclass(frozen=True, slots=True)
class Prepared:
    """A world right before an invocation; ``delivery`` is what is handed over, unless it ticks."""

    use_case: UseCase
    world: CheapWorld
    delivery: Delivery | None
    # What becomes of a world, by all that it is: two that are alike go on alike.
    futures: dict[str, End | str] = field(default_factory=dict)

    def invoke(self, world: CheapWorld, tap: Tap) -> None:
        """Let the use case do its work under a tap; it may die of it."""
        app = tapped(world.app, tap)
        with suppress(Death):
            _invoke(app, self.delivery)
        assert len(tap.calls) <= CALLS_MAX, f"{len(tap.calls)} calls in one invocation"

    def again(self, world: CheapWorld) -> None:
        """Hand it over once more, whatever became of it, and let everybody act on it."""
        if self.delivery is None:
            world.check_health()
        else:
            world.bus.retry(self.delivery, after_s=0.0)
        world.drain()


@dataclass(slots=True)
class Tally:
    """How many points there were, how many were really hit, and what did not survive."""

    enumerated: int = 0
    hit: int = 0
    failures: list[str] = field(default_factory=list)

    def take(self, points: Sequence[Point], hits: Sequence[str], failure: str) -> None:
        """Count one fault, or a pair."""
        self.enumerated += len(points)
        self.hit += sum(bool(hit) for hit in hits)
        if failure:
            self.failures.append(f"{' and '.join(str(each) for each in points)}: {failure}")


def prepare(use_case: UseCase) -> Prepared:
    """Bring a world to where the use case is about to be invoked."""
    world = CheapWorld()
    use_case.prepare(world)
    if use_case.who == TICK:
        return Prepared(use_case, world, None)
    waiting = world.pending(use_case.who)
    assert waiting, f"nothing waits for {use_case.id}"
    chosen = waiting[-1 if use_case.is_last else 0]
    for delivery in waiting:
        if delivery is chosen:
            continue
        if use_case.is_last:
            world.deliver(delivery)
        else:
            world.bus.retry(delivery, after_s=0.0)
    return Prepared(use_case, world, chosen)


def undisturbed(prepared: Prepared) -> tuple[list[str], End]:
    """Count the calls of the invocation, and see what becomes of the world without a fault."""
    world, tap = prepared.world.copy(), Tap()
    prepared.invoke(world, tap)
    return tap.calls, _live_on(prepared, world)


def enumerate_all(prepared: Prepared, tally: Tally) -> None:
    """Inject every fault at every point, one at a time."""
    calls, expected = undisturbed(prepared)
    for point in points_of(calls):
        tap = Tap(point)
        failure = _survive(prepared, expected, [tap])
        tally.take([point], [tap.hit], failure or _missed(tap, calls))


def enumerate_pairs(prepared: Prepared, tally: Tally, *, count: int, seed: str) -> None:
    """Inject two faults, one into the invocation and one into the next, for a sample of pairs."""
    chance = Random(seed)
    calls, expected = undisturbed(prepared)
    for first in chance.sample(all_points := list(points_of(calls)), min(count, len(all_points))):
        second = _second(prepared, first, chance)
        if second is None:
            continue  # the first fault left nothing to do
        taps = [Tap(first), Tap(second)]
        failure = _survive(prepared, expected, taps)
        tally.take([first, second], [tap.hit for tap in taps], failure)


def _second(prepared: Prepared, first: Point, chance: Random) -> Point | None:
    """Choose a point of the invocation that follows the first fault."""
    world, tap = prepared.world.copy(), Tap()
    prepared.invoke(world, Tap(first))
    prepared.invoke(world, tap)
    points = list(points_of(tap.calls))
    return chance.choice(points) if points else None


def _survive(prepared: Prepared, expected: End, taps: Sequence[Tap]) -> str:
    """Live through some faults; say what is wrong afterwards, if anything."""
    world = prepared.world.copy()
    try:
        for tap in taps:
            prepared.invoke(world, tap)
        assert not world.watch.violations, world.watch.violations
        end = _live_on(prepared, world)
        points = [tap.point for tap in taps if tap.point]
        check_end(points, expected, end)
    except AssertionError as error:
        return what_failed(error)
    finally:
        world.close()
    return ""


def _live_on(prepared: Prepared, world: CheapWorld) -> End:
    """See what becomes of a world; what was seen of one like it need not be seen again."""
    state = fingerprint(world)
    if state not in prepared.futures:
        prepared.futures[state] = _future(prepared, world)
    found = prepared.futures[state]
    assert isinstance(found, End), found
    return found


def _future(prepared: Prepared, world: CheapWorld) -> End | str:
    """Let the message come again, tick twice, and go on in peace; say what became of it."""
    try:
        prepared.again(world)
        world.tick()
        world.tick()
        come_to_rest(world)
        check_invariants(world)
    except AssertionError as error:
        return what_failed(error)
    return end_of(world)


def what_failed(error: AssertionError) -> str:
    """Say what an assertion said; one without words is a failure as well."""
    return (str(error) or repr(error))[:1000]


def _missed(tap: Tap, calls: Sequence[str]) -> str:
    """What was chosen is what was hit."""
    assert tap.point is not None, "a tap that injects knows where"
    wanted = calls[tap.point.number]
    return "" if tap.hit == wanted else f"hit {tap.hit or 'nothing'}, not {wanted}"


def _invoke(app: App, delivery: Delivery | None) -> None:
    if delivery is not None:
        push.receive(app, delivery)
        return
    with suppress(ControlPlaneError):  # its caller says 503, and the next tick is near
        health_check.run(app)


def ids(use_cases: Sequence[UseCase]) -> Iterator[str]:
    """Name use cases for pytest."""
    return (use_case.id for use_case in use_cases)
