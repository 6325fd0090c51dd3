"""What the cloud is asked for and what it shows, in the control plane's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BidRequest:
    """Everything one queued resource needs to be created.

    ``service_account`` is what its VMs run as; "" is the project's default.
    """

    name: str
    zone: str
    accelerator_type: str
    runtime_version: str
    tier: str
    labels: Mapping[str, str]
    metadata: Mapping[str, str]
    request_id: str
    service_account: str = ""


@dataclass(frozen=True, slots=True)
class CloudNode:
    """A node as the API shows it.  ``uid`` is its id and create time: another uid, another node.

    ``request`` is the queued resource that it came from, "" for one that was made directly.
    """

    name: str
    zone: str
    uid: str
    state: str
    health: str
    hosts: int
    labels: Mapping[str, str]
    accelerator_type: str = ""
    runtime_version: str = ""
    tier: str = "on-demand"
    service_account: str = ""
    request: str = ""

    @property
    def created_at(self) -> datetime | None:
        """When it came to be, as far as its uid tells."""
        try:
            return datetime.fromisoformat(self.uid.partition("@")[2])
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class CloudRequest:
    """A queued resource as the API shows it, with the nodes that exist for it.

    ``labels`` are those of the node spec: queued resources have none of their own.
    """

    name: str
    zone: str
    state: str
    reason: str
    initiator: str
    nodes: tuple[CloudNode, ...]
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TickAttempt:
    """When the cloud last began a tick, and how that failed: the name of a status, "" if not."""

    at: datetime
    problem: str


@dataclass(frozen=True, slots=True)
class Listing:
    """All queued resources (and nodes) of some zones.

    ``complete`` names the zones that were listed to the last page without an error and are
    not among the unreachable ones. Only there does absence mean anything. ``others`` are the
    nodes whose names are none of ours, each shown under its own name.
    """

    requests: tuple[CloudRequest, ...]
    complete: frozenset[str]
    problems: tuple[str, ...]
    others: tuple[CloudRequest, ...] = ()
