"""Places in the minute's budget, taken by many at once who die, repeat and overtake each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.app.context import App
from shared.app.rates import places_left, take_place
from shared.core.limits import Limits
from shared.core.policy import Policy
from shared.errors import Conflict, Unavailable
from shared.ports import Create, Document, Fields, Query, Replace, Write
from tests.fakes import FakeClock
from tests.unit.app.world import World


@dataclass
class Shelf:
    """Documents with compare-and-set, and something to do before each commit.

    ``lost`` commits take effect and are not answered, ``failed`` ones do not.
    """

    clock: FakeClock
    before_commit: Callable[[], None] = lambda: None
    lost: Iterator[str] = field(default_factory=lambda: iter(()))
    documents: dict[str, Document] = field(default_factory=dict)
    writes: int = 0

    def get(self, path: str) -> Document | None:
        """Read one."""
        found = self.documents.get(path)
        return replace(found, read_at=self.clock.now()) if found else None

    def query(self, query: Query) -> list[Document]:
        """Read all of a collection."""
        found = [path for path in self.documents if path.startswith(f"{query.collection}/")]
        return [replace(self.documents[path], read_at=self.clock.now()) for path in found]

    def commit(self, writes: Sequence[Write]) -> None:
        """Write one document, if nobody else has written it meanwhile."""
        self.before_commit()
        fate = next(self.lost, "done")
        if fate == "failed":
            raise Unavailable("no answer, and nothing written")
        (write,) = writes
        assert isinstance(write, Create | Replace)
        found = self.documents.get(write.path)
        known = write.token if isinstance(write, Replace) else None
        if known != (found.token if found else None):
            raise Conflict(write.path)
        self.put(write.path, write.fields)
        if fate == "lost":
            raise Unavailable("no answer, but written")

    def put(self, path: str, fields: Fields) -> None:
        """Write a document."""
        self.writes += 1
        now: datetime = self.clock.now()
        self.documents[path] = Document(path, fields, str(self.writes), now, now)


def app_over(world: World, shelf: Shelf, per_minute: int) -> App:
    """An installation with a budget."""
    limits = Limits(creates_per_minute=per_minute)
    return replace(world.app, store=shelf, clock=shelf.clock, limits=limits)


@pytest.fixture(scope="module", name="still")
def _still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An installation whose store nobody uses."""
    made = World(Path(tmp_path_factory.mktemp("still")))
    yield made
    made.close()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["bid-1", "bid-2", "bid-3", "bid-4"]),  # asked again and again
        st.integers(0, 3),  # how many others overtake it
        st.sampled_from([0.0, 0.0, 0.1, 7.0, 59.0]),  # seconds until the next one comes
        st.sampled_from(["done", "done", "done", "lost", "failed"]),
    ),
    min_size=5,
    max_size=80,
)


@given(STEPS, st.integers(1, 14))
def test_no_minute_has_more_requests_than_its_budget(
    still: World, steps: list[tuple[str, int, float, str]], per_minute: int
) -> None:
    """However many ask at once, repeat, overtake each other, or lose their replies."""
    clock = FakeClock()
    shelf = Shelf(clock, lost=iter([fate for *_, fate in steps]))
    app, made = app_over(still, shelf, per_minute), Counter[datetime]()

    def ask(name: str, others: int) -> None:
        waiting = [others]

        def overtaken() -> None:
            if waiting[0] > 0:
                waiting[0] -= 1
                before = shelf.before_commit
                ask(f"{name}-{waiting[0]}", 0)
                shelf.before_commit = before

        shelf.before_commit = overtaken
        minute = clock.now().replace(second=0, microsecond=0)
        # No answer: the place may be taken, and nobody uses it. Conflict: somebody else uses one.
        with suppress(Unavailable, Conflict):
            is_taken = take_place(app, name)  # others may take one meanwhile
            made[minute] += is_taken

    for name, others, seconds, _ in steps:
        ask(name, others)
        clock.advance(seconds)

    assert max(made.values(), default=0) <= per_minute


def test_a_budget_is_used_up_to_the_last_place(still: World) -> None:
    """By those who come one after the other, and again in the next minute."""
    clock = FakeClock()
    app = app_over(still, Shelf(clock), 14)
    clock.advance(60.0 - clock.now().second)

    first = [take_place(app, f"bid-{number}") for number in range(20)]
    clock.advance(60.0)
    second = [take_place(app, f"bid-{number}") for number in range(20)]

    assert [True] * 14 + [False] * 6 == first == second
    assert 0 == places_left(app, clock.now())


def test_a_storm_is_spread_over_the_documents(still: World) -> None:
    """No document is written more often than its share of the budget."""
    clock = FakeClock()
    shelf = Shelf(clock)
    app = app_over(still, shelf, 60)

    for number in range(200):
        take_place(app, f"bid-{number}")

    assert 60 == shelf.writes
    assert [6] * 10 == [document.fields["taken"] for document in shelf.documents.values()]


def test_who_dies_with_a_place_wastes_it(still: World) -> None:
    """It is not given to anybody else in this minute."""
    shelf = Shelf(FakeClock(), lost=iter(["lost"]))
    app = app_over(still, shelf, 2)

    with pytest.raises(Unavailable):
        take_place(app, "bid-1")

    assert [True, False] == [take_place(app, "bid-2"), take_place(app, "bid-3")]


def test_what_is_delivered_twice_takes_one_place(still: World) -> None:
    """Unless whoever took it has died: that is known after a while."""
    clock = FakeClock()
    shelf = Shelf(clock)
    app = replace(app_over(still, shelf, 60), policy=Policy())
    assert take_place(app, "bid-1")
    clock.advance(9.0)
    with pytest.raises(Conflict):
        take_place(app, "bid-1")
    assert 1 == shelf.writes
    clock.advance(1.0)

    assert take_place(app, "bid-1")


def test_of_two_at_the_same_time_one_takes_a_place(still: World) -> None:
    """They overtake each other between the look and the write."""
    shelf = Shelf(FakeClock())
    app = app_over(still, shelf, 60)

    def overtaken() -> None:
        shelf.before_commit = lambda: None
        assert take_place(app, "bid-1")

    shelf.before_commit = overtaken
    with pytest.raises(Conflict):
        take_place(app, "bid-1")

    assert 1 == shelf.writes


def test_a_lower_budget_counts_at_once(still: World) -> None:
    """Shares of the larger one are left alone."""
    shelf = Shelf(FakeClock())
    for number in range(30):
        take_place(app_over(still, shelf, 60), f"bid-{number}")

    app = app_over(still, shelf, 6)

    assert places_left(app, shelf.clock.now()) <= 6
    assert sum(take_place(app, f"later-{number}") for number in range(20)) <= 6
