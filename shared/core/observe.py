"""What a look at the cloud says of each bid.

Only what the cloud positively says counts: an error, a page that failed, a zone that did not
answer leave everything as it is (docs/protocol.md §3).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from shared.core.causes import Cause
from shared.core.cloud import CloudRequest
from shared.core.slices import Bid, BidStage, View

_NODE_GONE = frozenset({"PREEMPTED", "TERMINATED", "STOPPED"})
_NODE_READY = frozenset({"HEALTHY", "", "HEALTH_UNSPECIFIED"})
_REQUEST_GONE = frozenset({"SUSPENDED", "SUSPENDING"})
_DETAIL_CHARS_MAX = 300


def seen(bid: Bid, request: CloudRequest, at: datetime) -> Bid:
    """Take in that a request of this bid exists; ``at`` is before the look began."""
    if bid.foreign and bid.node_uid not in {node.uid for node in request.nodes}:
        return absent(bid, at)  # somebody made another one of that name
    states = [node.state for node in request.nodes]
    bid = replace(
        bid,
        stage=BidStage.PRESENT,
        state="/".join([request.state, *sorted(set(states))]),
        observed_at=at,
        absent_at=None,
        absent_again_at=None,
        unknown_since=None,
        node_uid=request.nodes[0].uid if request.nodes else bid.node_uid,
    )
    if request.state == "SUSPENDED" or (states and all(state in _NODE_GONE for state in states)):
        bid = replace(bid, stopped_at=at)
    cause = _lost_cause(bid, request, states)
    if cause is not None:
        return _as_lost(bid, cause, request.reason)
    if bid.verdict is View.PENDING and _is_ready(request):
        return replace(bid, verdict=View.READY, ready_at=at, detail="")
    if bid.verdict is View.PENDING:
        return replace(bid, detail=_waiting_for(request))
    return bid


def absent(bid: Bid, at: datetime) -> Bid:
    """Take in a direct 404; ``at`` is before the look began."""
    bid = replace(bid, absent_at=bid.absent_at or at, absent_again_at=at, unknown_since=None)
    if bid.stage is BidStage.PRESENT and not bid.is_condemned:
        return _as_lost(bid, Cause.DELETED, "it was deleted by somebody else")
    return bid


def never_came(bid: Bid, reason: str, at: datetime) -> Bid:
    """Take in that the operation that should have created the request failed."""
    failed = replace(
        bid, stage=BidStage.PRESENT, absent_at=at, absent_again_at=at, unknown_since=None
    )
    return _as_lost(failed, Cause.BAD_NODE, reason)


def _lost_cause(bid: Bid, request: CloudRequest, states: list[str]) -> Cause | None:
    if "PREEMPTED" in states:
        return Cause.PREEMPTED
    if any(state in _NODE_GONE for state in states):
        return Cause.PREEMPTED if bid.tier == "spot" else Cause.MAINTENANCE
    if request.state in _REQUEST_GONE:
        return Cause.PREEMPTED if request.initiator != "USER" else Cause.DELETED
    if request.state == "DELETING" and not bid.is_condemned:
        return Cause.DELETED
    if request.state == "FAILED":
        return Cause.PREEMPTED if bid.ready_at is not None else Cause.BAD_NODE
    return None


def _as_lost(bid: Bid, cause: Cause, reason: str) -> Bid:
    if bid.verdict is View.LOST:
        return bid  # the first sign is the cause
    detail = reason[:_DETAIL_CHARS_MAX]
    return replace(bid, verdict=View.LOST, lost_cause=cause, detail=detail)


def _is_ready(request: CloudRequest) -> bool:
    """ACTIVE alone is not enough: the nodes must be there, READY and healthy."""
    return (
        request.state == "ACTIVE"
        and bool(request.nodes)
        and all(node.state == "READY" and node.health in _NODE_READY for node in request.nodes)
    )


def _waiting_for(request: CloudRequest) -> str:
    return request.state.lower().replace("_", " ")
