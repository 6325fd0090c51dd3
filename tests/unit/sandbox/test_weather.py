"""What happens to the cloud by itself: lives, scenarios, and the same again with the same seed."""

import pytest

from sandbox.cloud import Cloud
from sandbox.errors import ApiError
from sandbox.resources import QueuedState
from tests.clouds import BOOTED_AT, READY_AT, active_cloud, ask, make_cloud, state

FIXED = [{"kind": "fixed", "values_s": [50]}]


def ends(cloud: Cloud, names: str) -> dict[str, float]:
    """Return when requests of these names are suspended, in whole seconds."""
    found: dict[str, float] = {}
    for now in range(3000):
        cloud.advance(float(now))
        for name in names:
            if name not in found and state(cloud, name) is QueuedState.SUSPENDING:
                found[name] = now
    return found


def two_nodes(*, between: bool = False, **settings: object) -> Cloud:
    """Ask for two spot nodes, and in between for something else or not."""
    cloud = make_cloud(**settings)
    ask(cloud, "a")
    if between:
        ask(cloud, "c", fields={"accelerator_type": "v4-8"})
    ask(cloud, "b")
    cloud.advance(BOOTED_AT)
    return cloud


def test_spot_node_is_preempted_with_a_notice_when_its_life_ends() -> None:
    """Counted from READY; the notice comes first."""
    cloud = active_cloud(lifetimes=FIXED)

    cloud.advance(READY_AT + 50)
    told = [host.is_preempted for host in cloud.hosts.values()]
    cloud.advance(READY_AT + 79)
    before = state(cloud)
    cloud.advance(READY_AT + 80)

    assert ([True, True], QueuedState.ACTIVE) == (told, before)
    assert QueuedState.SUSPENDING == state(cloud)


def test_silent_share_of_the_nodes_gets_no_notice() -> None:
    """All of them, with a share of 1."""
    cloud = active_cloud(lifetimes=[{**FIXED[0], "silent_share": 1}])

    cloud.advance(READY_AT + 50)

    assert QueuedState.SUSPENDING == state(cloud)


def test_other_laws_of_life_are_not_asked() -> None:
    """A law of another zone does not end a node of this one."""
    cloud = active_cloud(lifetimes=[{**FIXED[0], "zone": "europe-*"}])

    cloud.advance(READY_AT + 10_000)

    assert QueuedState.ACTIVE == state(cloud)


def test_same_seed_is_the_same_luck_whatever_else_is_asked() -> None:
    """Names, operations and other nodes draw from elsewhere; another seed is other luck."""
    law = [{"kind": "exponential", "mean_s": 300, "accelerator_type": "v4-16"}]

    plain = ends(two_nodes(seed=5, lifetimes=law), "ab")
    crowded = ends(two_nodes(seed=5, lifetimes=law, between=True), "ab")
    other = ends(two_nodes(seed=6, lifetimes=law), "ab")

    assert plain == crowded
    assert plain != other
    assert {"a", "b"} == plain.keys()


def test_speed_divides_every_duration() -> None:
    """Ten times as fast, from the create call to the boot."""
    cloud = make_cloud(speed=10)
    ask(cloud, "a")

    cloud.advance(BOOTED_AT / 10 - 0.1)
    before = [host.power for host in cloud.hosts.values()]
    cloud.advance(BOOTED_AT / 10)

    assert ["BOOTING", "BOOTING"] == before
    assert ["ON", "ON"] == [host.power for host in cloud.hosts.values()]


# --- Scenarios ----------------------------------------------------------------------------------


def test_scenario_changes_capacity_and_breaks_things_in_time() -> None:
    """Divided by its speed; what it hit is remembered."""
    cloud = active_cloud()
    stock = [{"at_s": 0, "nodes": 5}, {"at_s": 100, "nodes": 0}]
    faults = [{"at_s": 20, "fault": "dead-host", "host": 1}]
    cloud.weather.play({"speed": 10, "capacity": {"us-central2-b/v4-16": stock}, "faults": faults})

    cloud.advance(BOOTED_AT + 1.9)
    before = cloud.host("a-w-1").power
    cloud.advance(BOOTED_AT + 2)
    broken = cloud.host("a-w-1").power
    cloud.advance(BOOTED_AT + 10)

    assert ("ON", "DEAD") == (before, broken)
    assert {"us-central2-b/v4-16": 0} == cloud.settings.capacity
    shown = cloud.weather.show()
    assert shown is not None
    assert ([["a-w-1"], None], []) == ([each.get("hit") for each in shown["done"]], shown["ahead"])  # type: ignore[attr-defined]  # a list


def test_fault_that_finds_nobody_is_told_and_breaks_nothing() -> None:
    """The next one happens all the same."""
    cloud = active_cloud()
    faults = [{"fault": "reboot", "node": "nobody"}, {"fault": "dead-host", "host": 0}]
    cloud.weather.play({"faults": faults})

    cloud.advance(BOOTED_AT + 1)

    shown = cloud.weather.show()
    assert shown is not None
    troubles = [each["trouble"] for each in shown["done"]]  # type: ignore[attr-defined]  # a list
    assert ["no node that is READY is named nobody", ""] == troubles
    assert "DEAD" == cloud.host("a-w-0").power


def test_stopped_scenario_gives_the_settings_back_and_does_no_more() -> None:
    """What it has broken stays broken."""
    cloud = active_cloud(notice_s=33)
    cloud.weather.play({"settings": {"notice_s": 1}, "faults": [{"at_s": 5, "fault": "dead-host"}]})
    during = cloud.settings.notice_s

    cloud.weather.stop()
    cloud.advance(BOOTED_AT + 10)

    assert (1, 33) == (during, cloud.settings.notice_s)
    assert ["ON", "ON"] == [host.power for host in cloud.hosts.values()]
    assert cloud.weather.show() is None


def test_one_scenario_at_a_time() -> None:
    """And none can be stopped that is not on."""
    cloud = make_cloud()
    with pytest.raises(ApiError, match="no scenario is on"):
        cloud.weather.stop()
    cloud.weather.play({"title": "storm"})

    with pytest.raises(ApiError, match=r"a scenario is on \(storm\): stop it first"):
        cloud.weather.play({})
