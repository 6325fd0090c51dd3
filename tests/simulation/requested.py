"""A request of the simulated cloud with its node and hosts, and how the API shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shared.core.cloud import BidRequest, CloudNode, CloudRequest
from shared.errors import Busy, InvalidRequest
from tests.fake_slices import owns

if TYPE_CHECKING:
    from tests.simulation.hosts import Host


@dataclass(slots=True)
class Request:
    """One queued resource, its node (if any) and the hosts of that."""

    asked: BidRequest
    operation: str
    state: str = "WAITING_FOR_RESOURCES"
    initiator: str = "USER"
    reason: str = ""
    node_state: str = ""
    node_uid: str = ""
    hosts: list[Host] = field(default_factory=list)
    is_coming: bool = False
    hidden_until: float = -1.0
    shown: CloudRequest | None = None
    is_lent: bool = False

    @property
    def is_well(self) -> bool:
        """Nobody could take it for lost: it is there, was never hidden, and its hosts work."""
        return (
            (self.state, self.node_state) == ("ACTIVE", "READY")
            and self.hidden_until < 0
            and all(host.acts and not host.state.notice for host in self.hosts)
        )

    @property
    def holds_chips(self) -> bool:
        """It uses capacity of its zone, and not that of other people."""
        return self.state == "ACTIVE" and not self.is_lent


def show(held: Request) -> CloudRequest:
    """Show it as the API does."""
    if held.shown is None:
        asked = held.asked
        node = CloudNode(
            name=asked.name,
            zone=asked.zone,
            uid=held.node_uid,
            state=held.node_state,
            health="HEALTHY",
            hosts=len(held.hosts),
            labels=dict(asked.labels),
            accelerator_type=asked.accelerator_type,
            runtime_version=asked.runtime_version,
            tier=asked.tier,
        )
        held.shown = CloudRequest(
            name=asked.name,
            zone=asked.zone,
            state=held.state,
            reason=held.reason,
            initiator=held.initiator,
            nodes=(node,) if held.node_state else (),
            labels=dict(asked.labels),
        )
    return held.shown


def existing(held: Request, request: BidRequest) -> str:
    """Answer a create whose name is taken."""
    if held.state == "DELETING":
        raise Busy(f"{request.name} is being deleted")
    if not owns(held.asked.labels, request.labels):
        raise InvalidRequest(f"{request.name} belongs to somebody else")
    return held.operation if held.asked.request_id == request.request_id else ""
