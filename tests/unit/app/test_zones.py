"""Where the tick looks for orphans, and how often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shared.app.zones import QUIET_TICKS, ZONES, is_turn_of_quiet
from shared.core.names import cloud_name, labels
from tests.unit.app.test_orphans import OURS, put_in_cloud, sweep
from tests.unit.app.world import ZONE, World

HOUR_S, DAY_S = 3600.0, 86400.0


def emptied(world: World, *, quiet_for_s: float) -> None:
    """Let the last job of a zone be over for so long."""
    world.run_job()
    world.finish_job()
    world.tick_until_quiet()
    world.gives = False
    world.tick(quiet_for_s)
    world.slices.calls.clear()


@pytest.mark.parametrize("quiet_for_s", [1.0, 2 * HOUR_S, 6 * DAY_S])
def test_an_orphan_in_a_zone_that_was_left_is_found(world: World, quiet_for_s: float) -> None:
    """The control plane may have been down while it came; ten ticks are a sweep of such a zone."""
    emptied(world, quiet_for_s=quiet_for_s)
    name = cloud_name(OURS, world.slice().uid, 1, "0")
    put_in_cloud(world, name, labels(OURS, world.slice().uid, 1, "0"))

    for _ in range(2 * QUIET_TICKS):
        world.tick()

    assert () == world.slices.names


@pytest.mark.parametrize(
    "quiet_for_s, listings",
    [
        pytest.param(1.0, 3 * QUIET_TICKS, id="every tick soon after"),
        pytest.param(2 * HOUR_S, 3, id="every tenth tick later"),
        pytest.param(8 * DAY_S, 0, id="never in the end"),
    ],
)
def test_zones_are_listed_the_less_the_longer_nothing_is_there(
    world: World, quiet_for_s: float, listings: int
) -> None:
    """An empty installation asks Google nothing."""
    emptied(world, quiet_for_s=quiet_for_s)

    for _ in range(3 * QUIET_TICKS):
        world.tick()

    assert listings == world.slices.calls["list"]


def test_a_zone_is_listed_because_somebody_asks(world: World) -> None:
    """At once, and for the next hour."""
    name = cloud_name(OURS, "deadbeef", 1, "0")
    put_in_cloud(world, name, labels(OURS, "deadbeef", 1, "0"))
    sweep(world)
    assert name in world.slices.names, "nobody knows of this zone"

    outcome = world.outcome(world.order("sweep", {"zones": [ZONE]}))
    world.tick()

    assert "accepted" == outcome.outcome
    assert () == world.slices.names


def test_a_zone_that_is_none_is_refused(world: World) -> None:
    """Or every tick would fail to list it."""
    outcome = world.outcome(world.order("sweep", {"zones": [ZONE, "moon-dark1-a"]}))

    assert ("refused", "no zone with TPUs is called moon-dark1-a") == (
        outcome.outcome,
        outcome.reason,
    )
    assert None is world.store.get(ZONES)


@pytest.mark.parametrize(
    "before_s, at_s, is_turn",
    [
        pytest.param(0.0, 599.0, False, id="within ten ticks"),
        pytest.param(599.0, 600.0, True, id="the next ten"),
        pytest.param(0.0, 7200.0, True, id="after an outage"),
        pytest.param(600.0, 540.0, True, id="a clock that was set back"),
    ],
)
def test_one_tick_of_ten_looks_at_quiet_zones(
    before_s: float, at_s: float, *, is_turn: bool
) -> None:
    """The first of its ten, whenever it comes."""
    begun = datetime(2030, 1, 1, tzinfo=UTC)
    before, at = (begun + timedelta(seconds=each) for each in (before_s, at_s))

    assert is_turn is is_turn_of_quiet(before, at, 60.0)


def test_the_first_tick_of_all_looks_everywhere() -> None:
    """It cannot know when another one did."""
    assert is_turn_of_quiet(None, datetime(2030, 1, 1, tzinfo=UTC), 60.0)
