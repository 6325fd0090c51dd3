"""What Google's audit log says of our machines is acted on without a tick, once, if it is news."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import permutations
from random import Random

import pytest

from shared.core.causes import Cause
from shared.core.slices import View
from shared.core.stages import Stage
from tests.audit_entries import HOST_ERROR, PREEMPTED, TERMINATED, UPCOMING, tpu_entry, vm_entry
from tests.unit.app.audit_log import of_host, says, says_to_report
from tests.unit.app.records import JOB
from tests.unit.app.world import World

MAINTENANCE = {"windowStartTime": "2030-01-08T14:00:00Z"}


@pytest.mark.parametrize(
    "method, cause",
    [
        pytest.param(PREEMPTED, Cause.PREEMPTED, id="preempted"),
        pytest.param(HOST_ERROR, Cause.HOST_LOST, id="host error"),
        pytest.param(TERMINATED, Cause.MAINTENANCE, id="host maintenance"),
    ],
)
def test_a_loss_in_the_log_is_replaced_without_a_tick(
    world: World, method: str, cause: Cause
) -> None:
    """Nobody listed the cloud, no host said a word."""
    world.run_job()
    old, listed = world.bid.name, world.slices.calls["list"]
    world.deafen()
    says(world, of_host(world, method))

    assert (Stage.RECOVERING, 2) == (world.job().stage, world.slice().generation)
    assert cause is world.attempts()[0].cause
    assert [old, world.bid.name] == list(world.slices.names)
    assert old != world.bid.name
    assert listed == world.slices.calls["list"]


def test_the_timeline_names_the_log_and_its_method(world: World) -> None:
    """Whoever reads it sees who knew."""
    world.run_job()
    name = world.bid.name
    says_to_report(world, of_host(world))

    told = [each["text"] for each in world.all(f"jobs/{JOB}/timeline") if each["who"] == "report"]
    assert f"{name} is gone (audit log: {PREEMPTED})" in told
    assert f"{name}: preempted (audit log: {PREEMPTED})" in told


def test_report_touches_no_cloud(world: World) -> None:
    """Its account has no right to; what it commits wakes those who may."""
    world.run_job()
    before = world.slices.calls.copy()
    says_to_report(world, of_host(world), tpu_entry(world.bid.name, world.clock.now()))

    assert before == world.slices.calls
    assert 2 == world.slice().generation


def test_hosts_that_live_may_save_their_state(world: World) -> None:
    """The delete waits for them, but not for ever."""
    world.run_job(grace_s=600.0)
    old = world.bid.name
    world.deafen()
    says(world, of_host(world))
    world.ticks(world.policy.notice_s - 2.0)
    assert old in world.slices.names
    world.ticks(5.0)

    assert old not in world.slices.names


def test_a_job_goes_on_after_a_loss_in_the_log(world: World) -> None:
    """The next attempt runs, and one preemption was counted."""
    world.run_job()
    says(world, of_host(world))
    world.tick_until(world.runs_attempt(1))

    assert 1 == world.job().spent.preemptions
    assert 2 == world.slice().generation


@pytest.mark.parametrize("seed", range(5))
def test_a_gang_that_is_lost_makes_one_generation(world: World, seed: int) -> None:
    """Each of eight hosts has its entry, each entry comes twice, in any order."""
    world.run_job(accelerator_type="v4-64")
    world.chance = Random(seed)
    entries = [of_host(world, index=index) for index in range(8)] * 2
    says(world, *entries)
    world.tick_until(world.runs_attempt(1))
    says(world, *entries)
    world.ticks(20.0)

    assert 8 == len({str(entry["insertId"]) for entry in entries})
    assert 2 == world.slice().generation
    assert 1 == world.job().spent.preemptions
    assert [] == world.all("parked")


@pytest.mark.parametrize("order", list(permutations(["log", "notice", "cloud"])), ids="-".join)
def test_the_log_the_notice_and_the_cloud_tell_of_one_loss(
    world: World, order: tuple[str, ...]
) -> None:
    """Three signs, whichever comes first."""
    world.run_job()
    world.deafen()
    entry, old, told = of_host(world), world.bid.name, world.hosts[1]
    signs: Mapping[str, Callable[[], object]] = {
        "log": lambda: says(world, entry),
        "notice": told.notice,
        "cloud": lambda: world.slices.preempt(old),
    }
    for sign in order:
        signs[sign]()
        world.tick()
    world.tick_until(world.runs_attempt(1))
    world.ticks(20.0)

    assert 2 == world.slice().generation
    assert 1 == world.job().spent.preemptions


def test_an_entry_that_comes_after_the_next_generation_runs_is_no_news(world: World) -> None:
    """It names a VM of the old one."""
    world.run_job()
    entry = of_host(world)
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    says(world, entry)

    assert Stage.RUNNING is world.job().stage
    assert 2 == world.slice().generation


def test_a_loss_before_the_host_ever_spoke_is_left_to_the_tick(world: World) -> None:
    """Nobody knows whose VM it is; nothing is parked, nothing is tried for ever."""
    world.gives = False
    world.submit()
    host = world.farm.boot(world.bid.name)[0]
    says(world, vm_entry(PREEMPTED, host.hostname, world.clock.now()))

    assert 1 == world.slice().generation
    assert View.PENDING is world.bid.verdict
    assert [] == world.all("parked")
    world.gives = True
    world.tick_until(world.runs_attempt(0))


def test_a_bid_that_is_lost_before_it_is_claimed_is_followed_by_another(world: World) -> None:
    """One of two hosts booted, and was preempted; the generation stays."""
    world.gives = False
    world.submit()
    world.slices.make_ready(world.bid.name)
    (host,) = world.farm.boot(world.bid.name, hosts=1)
    world.drain()
    says(world, vm_entry(PREEMPTED, host.hostname, world.clock.now()))
    world.gives = True
    world.tick_until(world.runs_attempt(0))

    assert 1 == world.slice().generation
    assert ["preempted", ""] == [bid.condemned_for for bid in world.generation().bids]


def test_an_old_entry_only_makes_recovery_look(world: World) -> None:
    """A VM that crashed an hour ago may have been restarted; the cloud knows."""
    world.run_job()
    entry = vm_entry(HOST_ERROR, world.hosts[0].hostname, world.clock.now() - timedelta(hours=1))
    asked = world.slices.calls["get"]
    says(world, entry)
    assert (asked + 1, Stage.RUNNING) == (world.slices.calls["get"], world.job().stage)
    world.clock.advance(1.0)
    world.slices.preempt(world.bid.name)
    says(world, entry)

    assert Stage.RECOVERING is world.job().stage


# --- Announcements ------------------------------------------------------------------------------


def test_maintenance_ahead_is_told_once_and_loses_nothing(world: World) -> None:
    """Every host has its entry, and every entry may come twice."""
    world.run_job()
    entries = [of_host(world, UPCOMING, index, metadata=MAINTENANCE) for index in range(2)]
    says(world, *entries, *entries)
    world.ticks(5.0)
    says(world, *entries)

    notes = [
        note["text"]
        for note in world.all(f"jobs/{JOB}/timeline")
        if note["event"] == "MaintenanceAhead"
    ]
    assert [f"{world.bid.name}: maintenance is announced for 2030-01-08 14:00 UTC"] == notes
    assert (Stage.RUNNING, 1) == (world.job().stage, world.slice().generation)


def test_maintenance_that_moved_is_told_again(world: World) -> None:
    """The window is what people want to know."""
    world.run_job()
    later = {"windowStartTime": "2030-01-09T14:00:00Z"}
    says(world, of_host(world, UPCOMING, metadata=MAINTENANCE))
    world.tick()
    says(world, of_host(world, UPCOMING, metadata=later))

    assert 2 == world.events().count("MaintenanceAhead")
