"""`tpuctl history`: orders, and what came of them."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cli.commands.root import COMMANDS, load
from cli.history import WORDS, read_history
from cli.jobs import JobRow, list_jobs
from shared.core.orders import OrderKind
from tests.unit.app.world import ZONE, World, grant_of
from tests.unit.cli.stage import Installed, Tpuctl, ago, make_job
from tests.unit.cli.test_history import RECENT, order, past, rows, tell

__all__ = ["past"]


@pytest.mark.parametrize(
    "kind, event",
    [
        (OrderKind.RELEASE, "SliceReleased"),
        (OrderKind.SLICE_CREATE, "SliceOrdered"),
        (OrderKind.SLICE_RECREATE, "SliceRecreated"),
        (OrderKind.SLICE_RESTART, "SliceRestarting"),
        (OrderKind.SLICE_ADOPT, "SliceAdopted"),
    ],
)
def test_an_order_about_a_slice_is_told_with_its_name(
    tpuctl: Tpuctl, installed: Installed, kind: OrderKind, event: str
) -> None:
    """By whoever gave it, in one line with what came of it."""
    order(installed, "f", kind, 9)
    tell(installed, "v2-1", 10, event)

    assert [*RECENT, ("ada", "v2-1", f"{WORDS[kind]}: v2-1: {event}")] == rows(tpuctl)


def test_an_order_is_told_of_by_the_entry_that_is_nearest(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Another slice of mine that went by itself was not given back by me."""
    tell(installed, "a", 30, "SliceReleased")
    tell(installed, "b", 10, "SliceReleased")
    order(installed, "f", "release", 9)

    assert [
        ("tpuctl", "a", "a: SliceReleased"),
        ("ada", "b", "slice rm: b: SliceReleased"),
    ] == rows(tpuctl)[-2:]


def test_an_order_is_not_told_of_by_what_happened_long_before(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Even if nothing else tells of it."""
    tell(installed, "a", 60, "SliceReleased")
    order(installed, "f", "release", 9)

    assert [("tpuctl", "a", "a: SliceReleased"), ("ada", "-", "slice rm")] == rows(tpuctl)[-2:]


def test_a_refused_order_is_not_what_an_entry_tells_of(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """What happened then happened by itself."""
    tell(installed, "a", 10, "SliceReleased")
    order(installed, "f", "release", 9, outcome="refused", reason="slice a is busy")

    assert [
        ("tpuctl", "a", "a: SliceReleased"),
        ("ada", "-", "slice rm refused: slice a is busy"),
    ] == rows(tpuctl)[-2:]


def test_an_order_stands_before_what_it_caused(tpuctl: Tpuctl, installed: Installed) -> None:
    """Whatever stands first in the timeline of that commit."""
    at = ago(10)
    job = make_job(4, name="digits")
    installed.say(job, "999997", "revision 2: env", event="JobRevised", at=at)
    installed.say(job, "999998", "resumed by its owner", event="ResumeOrdered", at=at)
    order(installed, "f", "resume", 9, job=job.id, number=4)

    assert [
        ("ada", "4", "resumed by its owner"),
        ("tpuctl", "4", "revision 2: env"),
    ] == rows(tpuctl)[-2:]


@pytest.mark.parametrize("kind", OrderKind)
def test_every_order_is_told_in_the_words_that_give_it(kind: OrderKind) -> None:
    """They are a command."""
    first, *rest = WORDS[kind].split()
    command = load(first) if first in COMMANDS else None
    for word in rest:
        command = command.commands.get(word) if command is not None else None

    assert command is not None


def test_orders_are_told_in_the_words_that_give_them(tpuctl: Tpuctl, installed: Installed) -> None:
    """Not in ours."""
    order(installed, "f", "grant-remove", 9)

    assert ("ada", "-", "grant rm") == rows(tpuctl)[-1]


def test_an_order_is_told_of_by_the_entry_of_its_own_time(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Not by an earlier one whose order nobody knows any more."""
    installed.say(make_job(4), "099500", "stopped long ago", event="StopOrdered", at=ago(250))

    found = [deed for deed in rows(tpuctl) if "stopped" in deed[2]]

    assert [("tpuctl", "4", "stopped long ago"), ("grace", "4", "stopped by grace")] == found


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Make an installation whose orders are carried out."""
    made = World(tmp_path)
    yield made
    made.close()


def by_people(world: World) -> list[tuple[str, str]]:
    """Return what people did, as the whole history tells it."""
    found = read_history(world.store, "ada", world.clock.now() - timedelta(days=1))
    return [(deed.about, deed.text) for deed in found.deeds if deed.who == "ada"]


def test_every_order_about_a_slice_is_told_where_it_was_carried_out(world: World) -> None:
    """By name, also when the slice is gone."""
    world.create_slice()
    world.ticks(60.0, every_s=5.0)
    for kind in ("restart", "recreate"):
        assert "" == world.change_slice(kind, "mine").reason
        world.ticks(60.0, every_s=5.0)
    world.release("mine")
    world.tick_until_quiet()

    assert [
        ("mine", "slice create: mine: v4-16, by ada"),
        ("mine", "slice restart: mine: restarted by its owner"),
        ("mine", "slice recreate: mine is made again by its owner"),
        ("mine", "slice rm: mine is being deleted"),
    ] == by_people(world)


def test_a_refused_order_is_told_where_its_job_is(world: World) -> None:
    """Its number is not in the order."""
    world.run_job()
    assert "refused" == world.again().outcome
    job = find_job_row(world)

    found = read_history(world.store, "ada", world.clock.now() - timedelta(days=1), job)

    assert ("1", "resume refused: job 1 has not ended: running; tpuctl stop 1") in [
        (deed.about, deed.text) for deed in found.deeds
    ]


def find_job_row(world: World) -> JobRow:
    """Read the only job."""
    (row,) = list_jobs(world.store, "ada", 10)
    return row


@pytest.mark.parametrize(
    "kind, args, told",
    [
        ("release", {"slice": "v2-1"}, ("v2-1", "slice rm refused: there is no slice v2-1")),
        ("grant-add", grant_of(), ("trc", "grant add")),
        ("sweep", {"zones": [ZONE]}, (ZONE, "sweep")),
        (
            "parked-retry",
            {"key": "0" * 32},
            ("0" * 32, f"parked retry refused: nothing is parked under {'0' * 32}"),
        ),
    ],
)
def test_an_order_that_no_timeline_tells_of_says_what_it_was_about(
    world: World, kind: str, args: dict[str, object], told: tuple[str, str]
) -> None:
    """Whether it was carried out or not."""
    world.order(kind, args)

    assert [told] == by_people(world)
