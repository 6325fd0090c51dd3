"""Each fault: what it does, what it hits, and how it ends."""

from collections.abc import Mapping

import pytest

from sandbox.cloud import Cloud
from sandbox.errors import ApiError
from sandbox.nodes import NodeUpdate
from sandbox.resources import Power, QueuedState
from shared.core.catalog import Tier
from tests.clouds import (
    BOOTED_AT,
    LOCATION,
    active_cloud,
    ask,
    make_cloud,
    queued_name,
    state,
    wish,
)

ZONE = "us-central2-b"
NODE = f"{LOCATION}/nodes/a"
Words = Mapping[str, object]


def powers(cloud: Cloud) -> list[Power]:
    """Return what the hosts of the slice do."""
    return [host.power for host in cloud.hosts.values()]


# --- Capacity and quota -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param({}, QueuedState.WAITING_FOR_RESOURCES, id="waits"),
        pytest.param({"accelerator_type": "v4-16"}, QueuedState.WAITING_FOR_RESOURCES, id="type"),
        pytest.param({"accelerator_type": "v4-8"}, QueuedState.PROVISIONING, id="another type"),
        pytest.param({"how": "fail"}, QueuedState.FAILED, id="fails"),
    ],
)
def test_stockout_holds_requests_back(words: Words, expected: QueuedState) -> None:
    """Of the zone, or of one type in it."""
    cloud = make_cloud()
    cloud.weather.inject({"fault": "stockout", "zone": ZONE, **words})

    ask(cloud, "a")
    cloud.advance(30)

    assert expected == state(cloud)


@pytest.mark.parametrize("again, left", [({"for_s": 100}, [True, False]), ({}, [True, True])])
def test_fault_that_is_ordered_again_lasts_as_long_as_was_said_last(
    again: Words, left: list[bool]
) -> None:
    """The end of the first one does not end it; another zone is another fault."""
    cloud = make_cloud()
    fault = {"fault": "stockout", "zone": ZONE}
    cloud.weather.inject({**fault, "for_s": 10})
    cloud.weather.inject({**fault, "zone": "us-central1-a", "for_s": 20})
    cloud.weather.inject({**fault, **again})

    found = []
    for at in (50, 150):
        cloud.advance(at)
        found.append(ZONE in cloud.settings.sold_out)

    assert left == found
    assert "us-central1-a" not in cloud.settings.sold_out


def test_stockout_ends_after_its_time() -> None:
    """And those who wait are served."""
    cloud = make_cloud()
    cloud.weather.inject({"fault": "stockout", "zone": ZONE, "for_s": 100})
    ask(cloud, "a")

    cloud.advance(99)
    before = state(cloud)
    cloud.advance(100)

    assert QueuedState.WAITING_FOR_RESOURCES == before
    assert QueuedState.PROVISIONING == state(cloud)


def test_quota_is_cut_for_a_while() -> None:
    """Below what the settings allow, which is there again afterwards."""
    cloud = make_cloud(quota={"us-central2/v4/spot": 100})
    cut = {"fault": "quota", "region": "us-central2", "generation": "v4", "chips": 4, "for_s": 50}
    cloud.weather.inject(cut)

    with pytest.raises(ApiError, match="Limit: 4 in us-central2"):
        ask(cloud, "a")
    cloud.advance(50)
    ask(cloud, "a")

    assert {"us-central2/v4/spot": 100} == cloud.settings.quota


# --- Calls --------------------------------------------------------------------------------------


def test_failing_calls_may_be_named_by_a_pattern() -> None:
    """Each order is used up by so many calls."""
    cloud = make_cloud()
    cloud.weather.inject({"fault": "call", "method": "Create*", "code": 429, "count": 2})

    taken = [cloud.take_failure(name) for name in ("GetNode", "CreateNode", "CreateX", "CreateY")]

    assert [None, 429, 429, None] == [failure and failure.code for failure in taken]


def test_lost_reply_comes_after_the_effect() -> None:
    """The connection breaks: there is no answer, not even an error."""
    cloud = make_cloud()

    cloud.weather.inject({"fault": "lost-reply", "target": "CreateNode"})

    failure = cloud.take_failure("CreateNode")
    assert failure is not None
    assert "dropped" == failure.when


def test_slow_create_delays_the_next_requests_only() -> None:
    """So many, and no more."""
    cloud = make_cloud()
    cloud.weather.inject({"fault": "slow-create", "delay_s": 660})
    names = [ask(cloud, "a"), ask(cloud, "b")]

    cloud.advance(10)
    early = [cloud.operation(name).ended_at for name in names]
    cloud.advance(660)

    assert [None, 10] == early
    assert 660 == cloud.operation(names[0]).ended_at


def test_slow_create_delays_nodes_too() -> None:
    """Those that are asked for without a request."""
    cloud = make_cloud()
    cloud.weather.inject({"fault": "slow-create", "delay_s": 660})
    operation = cloud.create_node(LOCATION, wish("n"), Tier.SPOT).name

    cloud.advance(659)
    before = cloud.operation(operation).ended_at
    cloud.advance(660)

    assert (None, 660) == (before, cloud.operation(operation).ended_at)


def test_slow_patch_delays_the_next_update() -> None:
    """The hosts learn of it after that, as ever."""
    cloud = active_cloud()
    cloud.weather.inject({"fault": "slow-patch"})
    operation = cloud.update_node(NODE, NodeUpdate(metadata={"bell": "1"})).name

    cloud.advance(BOOTED_AT + 59)
    before = cloud.operation(operation).ended_at
    cloud.advance(BOOTED_AT + 61)

    assert (None, BOOTED_AT + 60) == (before, cloud.operation(operation).ended_at)
    assert "1" == cloud.host("a-w-0").attributes["bell"]


def test_stuck_delete_ends_when_it_is_ordered_again() -> None:
    """As in the real cloud."""
    cloud = active_cloud()
    cloud.weather.inject({"fault": "stuck-delete"})
    cloud.delete_queued_resource(queued_name("a"), force=True)
    cloud.advance(BOOTED_AT + 5000)
    stuck = state(cloud)

    cloud.delete_queued_resource(queued_name("a"), force=True)
    cloud.advance(BOOTED_AT + 5050)

    assert QueuedState.DELETING == stuck
    assert {} == dict(cloud.queued_resources)


@pytest.mark.parametrize("fault", ["unreachable", "hidden"])
def test_zone_that_does_not_answer_does_so_again(fault: str) -> None:
    """After its time."""
    cloud = make_cloud()
    cloud.weather.inject({"fault": fault, "target": ZONE, "for_s": 10})
    during = getattr(cloud.settings, fault)

    cloud.advance(10)

    assert ((ZONE,), ()) == (during, getattr(cloud.settings, fault))


# --- Nodes and hosts ----------------------------------------------------------------------------


def test_request_becomes_active_with_a_node_missing() -> None:
    """ACTIVE, and nothing there."""
    cloud = make_cloud()
    cloud.weather.inject({"fault": "missing-node"})
    ask(cloud, "a")

    cloud.advance(BOOTED_AT)

    assert QueuedState.ACTIVE == state(cloud)
    assert {} == dict(cloud.nodes)
    assert {} == dict(cloud.hosts)


def test_vanished_node_leaves_its_request_active() -> None:
    """Its hosts are gone with it."""
    cloud = active_cloud()

    assert [NODE] == cloud.weather.inject({"fault": "vanish", "node": "a"})

    assert (QueuedState.ACTIVE, {}, {}) == (state(cloud), dict(cloud.nodes), dict(cloud.hosts))


def test_silent_host_runs_and_is_heard_again() -> None:
    """By its own name; only what was ordered does not answer."""
    cloud = active_cloud()
    words = {"fault": "silent-host", "target": "a-w-1", "services": "storage,pubsub", "for_s": 60}

    hit = cloud.weather.inject(words)
    during = [host.cut for host in cloud.hosts.values()]
    cloud.advance(BOOTED_AT + 60)

    assert ["a-w-1"] == hit
    assert [frozenset(), frozenset({"storage", "pubsub"})] == during
    assert [frozenset(), frozenset()] == [host.cut for host in cloud.hosts.values()]
    assert [Power.ON, Power.ON] == powers(cloud)


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param({"host": 1}, [Power.ON, Power.DEAD], id="one by number"),
        pytest.param({"pick": "all"}, [Power.DEAD, Power.DEAD], id="all"),
        pytest.param({"node": "?", "host": 0}, [Power.DEAD, Power.ON], id="a pattern"),
    ],
)
def test_host_is_dead_and_its_node_ready(words: Words, expected: list[Power]) -> None:
    """Those that were meant."""
    cloud = active_cloud()

    cloud.weather.inject({"fault": "dead-host", **words})

    assert expected == powers(cloud)
    assert "READY" == cloud.node(NODE).state


def test_host_by_luck_is_the_same_with_the_same_seed() -> None:
    """And not always the same one."""

    def hits(seed: int) -> list[str]:
        cloud = active_cloud(seed=seed)
        return [cloud.weather.inject({"fault": "health", "pick": "one"})[0]] + [
            cloud.weather.inject({"fault": "silent-host"})[0] for _ in range(12)
        ]

    assert hits(1) == hits(1)
    assert hits(1) != hits(2)
    assert {NODE, "a-w-0", "a-w-1"} == set(hits(1))


def test_skewed_host_boots_with_another_clock() -> None:
    """Only that one."""
    cloud = active_cloud()

    cloud.weather.inject({"fault": "clock-skew", "host": 0, "skew_s": -90})

    assert [Power.BOOTING, Power.ON] == powers(cloud)
    assert [-90, 0] == [host.clock_skew_s for host in cloud.hosts.values()]


def test_preemption_by_name_takes_the_node() -> None:
    """As the order of the command line does."""
    cloud = active_cloud()

    cloud.weather.inject({"fault": "preempt", "target": "a", "notice_s": 5, "hosts": "1"})
    told = [host.is_preempted for host in cloud.hosts.values()]
    cloud.advance(BOOTED_AT + 5)

    assert [False, True] == told
    assert QueuedState.SUSPENDING == state(cloud)
