"""What is known of Google's service, a row each: states, errors and quotas.

How each state is brought about and what it allows; the words and numbers of each error.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from sandbox.cloud import Cloud
from sandbox.errors import ApiError
from sandbox.nodes import NodeUpdate
from sandbox.queued_request import QueuedRequest
from sandbox.resources import NodeState, QueuedState
from shared.core.catalog import Tier
from tests.clouds import (
    ACTIVE_AT,
    BOOTED_AT,
    LOCATION,
    active_cloud,
    api_of,
    ask,
    make_cloud,
    node_body,
    queued_name,
    state,
    wish,
)

NODE = f"{LOCATION}/nodes/a"
SOLD_OUT = {"capacity": {"us-central2-b/v4-16": 0}}


def asked(at: float, **settings: object) -> Cloud:
    """Make a cloud in which ``a`` was asked for at 0, at some time after that."""
    cloud = make_cloud(**settings)
    ask(cloud, "a")
    cloud.advance(at)
    return cloud


def taken(after: float) -> Cloud:
    """Make a cloud in which ``a`` was preempted, some time ago."""
    cloud = active_cloud()
    cloud.preempt(NODE, notice=False)
    cloud.advance(BOOTED_AT + after)
    return cloud


def deleted() -> Cloud:
    """Make a cloud in which ``a`` is being deleted."""
    cloud = active_cloud()
    cloud.delete_queued_resource(queued_name("a"), force=True)
    return cloud


# How to get there; may it be deleted without force, and with it.
QUEUED_STATES: dict[QueuedState, tuple[Callable[[], Cloud], bool, bool]] = {
    QueuedState.CREATING: (lambda: asked(10.0), True, True),
    QueuedState.WAITING_FOR_RESOURCES: (lambda: asked(100, **SOLD_OUT), True, True),
    QueuedState.PROVISIONING: (lambda: asked(ACTIVE_AT - 1), False, True),
    QueuedState.ACTIVE: (lambda: asked(ACTIVE_AT), False, True),
    QueuedState.SUSPENDING: (lambda: taken(0), False, False),
    QueuedState.SUSPENDED: (lambda: taken(30), True, True),
    QueuedState.FAILED: (lambda: asked(100, stockout="fail", **SOLD_OUT), True, True),
    QueuedState.DELETING: (deleted, True, True),
}


def may(make: Callable[[], Cloud], *, force: bool) -> bool:
    """Tell whether ``a`` can be deleted in such a cloud; a refusal is FAILED_PRECONDITION."""
    try:
        make().delete_queued_resource(queued_name("a"), force=force)
    except ApiError as error:
        return (error.http_code, error.rpc_code) != (400, 9)
    return True


def test_no_state_of_a_queued_resource_is_left_out() -> None:
    """The table is about all that the sandbox has."""
    assert set(QueuedState) == set(QUEUED_STATES)


@pytest.mark.parametrize("wanted", QUEUED_STATES)
def test_state_says_whether_a_queued_resource_can_be_deleted(wanted: QueuedState) -> None:
    """Force is for those that have nodes; while SUSPENDING nothing helps."""
    make, without, forced = QUEUED_STATES[wanted]
    assert wanted == state(make())

    seen = [may(make, force=force) for force in (False, True)]

    assert [without, forced] == seen


@pytest.mark.parametrize(
    "wanted", [each for each in QUEUED_STATES if each is not QueuedState.CREATING]
)
def test_name_and_quota_are_held_until_it_is_gone(wanted: QueuedState) -> None:
    """In every state, a suspended and a failed one included."""
    cloud = QUEUED_STATES[wanted][0]()
    cloud.settings = cloud.settings.updated({"quota": {"us-central2/v4/spot": 8}})

    with pytest.raises(ApiError, match="already exists"):
        ask(cloud, "a")
    with pytest.raises(ApiError, match="has been exceeded"):
        ask(cloud, "b")


@pytest.mark.parametrize("node_state", [each for each in NodeState if each is not NodeState.READY])
def test_node_can_be_patched_only_while_it_is_ready(node_state: NodeState) -> None:
    """Labels of one that is pending cannot be changed; the text names the state."""
    cloud = active_cloud()
    cloud.ledger.nodes[NODE] = replace(cloud.node(NODE), state=node_state)

    with pytest.raises(ApiError, match=f"update is not supported while in state {node_state}$"):
        cloud.update_node(NODE, NodeUpdate(labels={"a": "b"}))


def test_node_that_was_preempted_stays_only_without_a_queued_resource() -> None:
    """With one, the node is gone and the request says what happened."""
    alone = make_cloud()
    alone.create_node(LOCATION, wish("a"), Tier.SPOT)
    alone.advance(BOOTED_AT)
    alone.preempt(NODE, notice=False)
    alone.advance(10_000)

    assert NodeState.PREEMPTED == alone.node(NODE).state
    assert {} == dict(taken(30).nodes)


ERRORS: dict[str, tuple[Callable[[], object], int, str]] = {
    "stockout": (
        lambda: _failed(asked(100, stockout="fail", **SOLD_OUT)),
        8,
        'There is no more capacity in the zone "us-central2-b"',
    ),
    "reservation": (
        lambda: _failed(_reserved(make_cloud(stockout="fail", **SOLD_OUT))),
        8,
        "Insufficient reserved capacity. Contact customer support",
    ),
    "quota": (
        lambda: ask(make_cloud(quota={"us-central2/v4/spot": 0}), "a"),
        8,
        "'TPUV4sPreemptiblePodPerProjectPerRegionForTPUAPI' has been exceeded. Limit: 0",
    ),
    "no access": (
        lambda: make_cloud(zones=[]).check_location(LOCATION),
        7,
        "Location us-central2-b is not found or access is unauthorized",
    ),
    "type": (
        lambda: ask(make_cloud(), "a", fields={"accelerator_type": "v4-17"}),
        3,
        "accelerator v4-17 was not found",
    ),
    "runtime": (
        lambda: ask(make_cloud(), "a", fields={"runtime_version": "x"}),
        3,
        "Invalid runtimeVersion 'x'",
    ),
    "exists": (lambda: ask(active_cloud(), "a"), 6, "already exists"),
    "busy": (
        lambda: taken(0).delete_queued_resource(queued_name("a"), force=True),
        9,
        "while in state SUSPENDING",
    ),
    "preempted meanwhile": (
        lambda: taken(0).update_node(NODE, NodeUpdate(labels={})),
        3,
        "update is not supported while in state PREEMPTED",
    ),
    "expired": (lambda: _failed(asked(100_000, **SOLD_OUT), valid=True), 4, "has passed"),
    "silent zone": (
        lambda: make_cloud(unreachable=["us-central2-b"]).check_location(LOCATION),
        14,
        "is unavailable",
    ),
    "unknown field": (
        lambda: api_of(make_cloud()).call(
            "CreateNode", LOCATION, "", {"nodeId": "n"}, node_body(colour="red")
        ),
        3,
        'Unknown name "colour"',
    ),
}


@pytest.mark.parametrize("row", ERRORS)
def test_error_has_googles_number_and_words(row: str) -> None:
    """Clients tell errors apart by both."""
    bring_about, code, words = ERRORS[row]

    with pytest.raises(ApiError) as error:
        bring_about()

    assert code == error.value.rpc_code
    assert words in error.value.message


@pytest.mark.parametrize(
    "tier, held, other",
    [
        (Tier.SPOT, Tier.SPOT, Tier.ON_DEMAND),
        (Tier.ON_DEMAND, Tier.ON_DEMAND, Tier.RESERVED),
        (Tier.RESERVED, Tier.RESERVED, Tier.SPOT),
    ],
)
def test_tiers_have_quotas_of_their_own(tier: Tier, held: Tier, other: Tier) -> None:
    """A full one does not stand in the way of another."""
    cloud = make_cloud(quota={f"us-central2/v4/{tier}": 8})
    cloud.create_node(LOCATION, wish("first"), held)

    cloud.create_node(LOCATION, wish("second"), other)
    with pytest.raises(ApiError, match="has been exceeded"):
        cloud.create_node(LOCATION, wish("third"), held)


@pytest.mark.parametrize(
    "quota, words",
    [
        ({"us-central2-b/v4/spot": 8}, "PerZoneForTPUAPI' has been exceeded. Limit: 8 in"),
        ({"us-central2/v4/spot": 8, "us-central2-b/v4/spot": 80}, "Limit: 8 in us-central2."),
    ],
)
def test_quotas_of_region_and_zone_both_count(quota: dict[str, int], words: str) -> None:
    """What the zone grants, the region may still refuse."""
    cloud = make_cloud(quota=quota)
    ask(cloud, "a")

    with pytest.raises(ApiError) as error:
        ask(cloud, "b")

    assert words in error.value.message


def _reserved(cloud: Cloud) -> Cloud:
    request = QueuedRequest((wish("a"),), Tier.RESERVED, body={})
    cloud.create_queued_resource(queued_name("a"), request)
    cloud.advance(100)
    return cloud


def _failed(cloud: Cloud, *, valid: bool = False) -> None:
    """Raise what a request has failed with; with ``valid`` one whose time has passed."""
    name = "b" if valid else "a"
    if valid:
        request = QueuedRequest((wish(name),), Tier.SPOT, body={}, valid_for_s=60)
        cloud.create_queued_resource(queued_name(name), request)
        cloud.advance(200_000)
    error = cloud.queued_resource(queued_name(name)).error
    assert error, "the request has failed"
    names = {4: "DEADLINE_EXCEEDED", 8: "RESOURCE_EXHAUSTED"}
    raise ApiError(names[int(str(error["code"]))], str(error["message"]))
