"""A look at the cloud says only what the cloud positively says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.core.causes import Cause
from shared.core.letting_go import lost
from shared.core.observe import absent, never_came, seen
from shared.core.slices import Bid, BidStage, View
from tests.unit.core.facts import request
from tests.unit.core.situations import START, bid_of, later, running, settled, submitted

AT = later(running(), 60.0).now
REQUEST_STATES = ["CREATING", "ACCEPTED", "PROVISIONING", "WAITING_FOR_RESOURCES", "NEW", ""]
NODE_STATES = [
    "",
    "STATE_UNSPECIFIED",
    "CREATING",
    "STARTING",
    "RESTARTING",
    "REPAIRING",
    "STOPPING",
    "HIDDEN",
    "HIDING",
    "UNHIDING",
    "NEW",
]


def waiting() -> Bid:
    """Return a bid that was asked for."""
    return replace(bid_of(settled(submitted())), stage=BidStage.REQUESTED)


@pytest.mark.parametrize("state", REQUEST_STATES)
def test_a_request_in_any_other_state_is_waited_for(state: str) -> None:
    """Whatever word Google adds: it is neither ready nor lost."""
    bid = seen(waiting(), request(state), AT)

    assert (View.PENDING, BidStage.PRESENT) == (bid.verdict, bid.stage)


@pytest.mark.parametrize("state", NODE_STATES)
def test_a_node_in_any_other_state_is_neither_ready_nor_lost(state: str) -> None:
    """A repair is no preemption, and a node that stops is not stopped."""
    early = seen(waiting(), request("ACTIVE", state), AT)
    running_ = seen(bid_of(running()), request("ACTIVE", state), AT)

    assert (View.PENDING, View.READY) == (early.verdict, running_.verdict)
    assert running_.stopped_at is None


@pytest.mark.parametrize(
    "state, node, health, verdict",
    [
        pytest.param("ACTIVE", "READY", "HEALTHY", View.READY, id="ready"),
        pytest.param("ACTIVE", "READY", "", View.READY, id="no word on health"),
        pytest.param("ACTIVE", "READY", "UNHEALTHY_TENSORFLOW", View.PENDING, id="unhealthy"),
        pytest.param("PROVISIONING", "READY", "HEALTHY", View.PENDING, id="node before request"),
        pytest.param("ACTIVE", "", "", View.PENDING, id="request before node"),
    ],
)
def test_ready_is_when_request_and_nodes_say_so(
    state: str, node: str, health: str, verdict: View
) -> None:
    """ACTIVE alone is not enough."""
    bid = seen(waiting(), request(state, node, health=health), AT)

    assert verdict is bid.verdict
    assert (AT if verdict is View.READY else None) == bid.ready_at


def test_a_bid_is_ready_since_it_was_first_seen_so() -> None:
    """Later looks do not postpone the limit for its boot."""
    first = seen(waiting(), request("ACTIVE", "READY"), START)

    assert START == seen(first, request("ACTIVE", "READY"), AT).ready_at


def test_the_first_sign_is_the_cause() -> None:
    """A node that was told, and is then deleted by us, was preempted."""
    told = lost(bid_of(running()), Cause.MAINTENANCE, "a host was told")

    assert Cause.MAINTENANCE is seen(told, request("ACTIVE", "PREEMPTED"), AT).lost_cause
    assert Cause.MAINTENANCE is absent(told, AT).lost_cause


def test_what_we_condemned_was_not_deleted_by_somebody_else() -> None:
    """Its absence is what was wanted."""
    ours = replace(bid_of(running()), condemned_at=START)

    assert View.READY is absent(ours, AT).verdict
    assert View.READY is seen(ours, request("DELETING"), AT).verdict


def test_a_request_that_never_was_there_is_not_lost_by_being_absent() -> None:
    """Its create may take its time."""
    bid = absent(waiting(), AT)

    assert (View.PENDING, AT, AT) == (bid.verdict, bid.absent_at, bid.absent_again_at)


def test_absence_ends_when_the_request_is_seen() -> None:
    """A single mistake of the API proves nothing later on."""
    bid = seen(absent(replace(bid_of(running()), condemned_at=START), AT), request("ACTIVE"), AT)

    assert (None, None) == (bid.absent_at, bid.absent_again_at)


def test_a_create_that_failed_says_why_and_leaves_nothing_behind() -> None:
    """Cloud errors may be long."""
    bid = never_came(waiting(), "no " * 500, AT)

    assert (View.LOST, Cause.BAD_NODE, 300) == (bid.verdict, bid.lost_cause, len(bid.detail))
    assert AT == bid.absent_at


def test_a_node_made_anew_has_another_uid() -> None:
    """And the last known one is kept while none is there."""
    bid = seen(waiting(), request("ACTIVE", "READY"), AT)

    assert "n@1" == bid.node_uid == seen(bid, request("SUSPENDING"), AT).node_uid
