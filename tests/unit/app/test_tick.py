"""The tick's account of itself, which Google's alert policies read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_mock import MockerFixture

from shared.errors import Unavailable
from tests.log_lines import Lines, captured
from tests.unit.app.world import World


@pytest.fixture
def lines() -> Iterator[Lines]:
    """Log as a deployed function does."""
    with captured() as found:
        yield found


def ticks_of(lines: Lines) -> list[tuple[object, object, object]]:
    """Read what ticks said: outbox age, slices, problems."""
    return [
        (line["outbox_age_s"], line["slices"], line["problems"])
        for line in lines.all
        if line["message"] == "tick"
    ]


def test_each_tick_says_one_line(world: World, lines: Lines) -> None:
    """All is well, nothing is there."""
    world.check_health()
    world.check_health()

    assert [(0.0, 0, 0)] * 2 == ticks_of(lines)


def test_a_tick_counts_slices(world: World, lines: Lines) -> None:
    """Those that may have something in the cloud."""
    world.run_job()
    lines.clear()
    world.check_health()

    assert [(0.0, 1, 0)] == ticks_of(lines)


def test_an_outbox_that_nobody_empties_grows_old(
    world: World, lines: Lines, mocker: MockerFixture
) -> None:
    """While the bus is down its age is the oldest event's; afterwards it is nothing again."""
    world.run_job()
    mocker.patch.object(world.bus, "publish", side_effect=Unavailable("no bus"))
    world.slices.preempt(world.bid.name)
    for _ in range(3):
        world.clock.advance(30.0)
        world.check_health()
    mocker.stopall()
    world.check_health()
    world.check_health()

    ages = [age for age, _, _ in ticks_of(lines)][-5:]
    assert [0.0, 30.0, 60.0, 60.0, 0.0] == ages


def test_what_went_wrong_is_counted(world: World, lines: Lines, mocker: MockerFixture) -> None:
    """The canary, and the listing of one zone."""
    world.run_job()
    lines.clear()
    mocker.patch.object(world.bus, "publish", side_effect=Unavailable("no bus"))
    mocker.patch.object(world.slices, "list", side_effect=Unavailable("no cloud"))
    world.check_health()

    ((_, _, problems),) = ticks_of(lines)
    assert 2 == problems
