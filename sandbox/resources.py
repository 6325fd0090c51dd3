"""The records of the simulated cloud: queued resources, nodes, hosts, operations.

Frozen: a change replaces the record, so whoever holds one holds a true snapshot. Names are
Google's full resource names, ``projects/P/locations/Z/nodes/N``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sandbox.errors import JsonObject
from shared.core.catalog import Tier


class QueuedState(StrEnum):
    """States of a queued resource that the sandbox passes through."""

    CREATING = "CREATING"
    WAITING_FOR_RESOURCES = "WAITING_FOR_RESOURCES"
    PROVISIONING = "PROVISIONING"
    ACTIVE = "ACTIVE"
    SUSPENDING = "SUSPENDING"
    SUSPENDED = "SUSPENDED"
    FAILED = "FAILED"
    DELETING = "DELETING"


class NodeState(StrEnum):
    """States of a node that the sandbox passes through."""

    CREATING = "CREATING"
    READY = "READY"
    RESTARTING = "RESTARTING"
    REPAIRING = "REPAIRING"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"
    STARTING = "STARTING"
    PREEMPTED = "PREEMPTED"
    DELETING = "DELETING"


class Initiator(StrEnum):
    """Who brought a queued resource into SUSPENDING or SUSPENDED."""

    UNSPECIFIED = "STATE_INITIATOR_UNSPECIFIED"
    USER = "USER"
    SERVICE = "SERVICE"


class Power(StrEnum):
    """Whether a host runs."""

    OFF = "OFF"
    BOOTING = "BOOTING"
    ON = "ON"
    DEAD = "DEAD"


@dataclass(frozen=True, slots=True)
class NodeWish:
    """A node as a request describes it.  ``body`` is all of it as JSON.

    ``scheduling`` is what the API shows of its terms; empty: what its tier stands for.
    ``is_multislice`` says that it is one of several that were asked for as one.
    ``accelerator_config`` is its type and topology, the other way to name a type.
    """

    node_id: str
    accelerator_type: str
    runtime_version: str
    description: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    body: JsonObject = field(default_factory=dict)
    scheduling: JsonObject = field(default_factory=dict)
    is_multislice: bool = False
    accelerator_config: JsonObject = field(default_factory=dict)
    external_ips: bool = False
    data_disks: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node that may be made: a wish that was checked, and what it takes."""

    wish: NodeWish
    tier: Tier
    hosts: int
    chips: int

    @property
    def accelerator_type(self) -> str:
        """Return the type of the node."""
        return self.wish.accelerator_type


@dataclass(frozen=True, slots=True)
class QueuedResource:
    """A request for nodes.  ``body`` is the request as JSON, ``error`` a google.rpc.Status.

    It is not served before ``valid_after``, and fails when it still waits at ``valid_until``.
    Its nodes are taken back when they have run for ``run_for_s``.
    """

    name: str
    specs: tuple[NodeSpec, ...]
    body: JsonObject
    created_at: float
    state: QueuedState = QueuedState.CREATING
    initiator: Initiator = Initiator.UNSPECIFIED
    valid_until: float | None = None
    error: JsonObject | None = None
    valid_after: float | None = None
    run_for_s: float | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A TPU VM resource.  ``queued_resource`` is empty for a node created by itself."""

    name: str
    id: int
    spec: NodeSpec
    created_at: float
    hosts: tuple[str, ...]
    queued_resource: str = ""
    state: NodeState = NodeState.CREATING
    health: str = "HEALTH_UNSPECIFIED"
    health_description: str = ""
    description: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    external_ips: bool = True
    data_disks: tuple[JsonObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Host:
    """One VM of a node.

    ``attributes`` is the node's metadata as this host sees it, some time after the API does.
    ``cut`` names the services that do not answer this host. ``guest_attributes`` is what it
    has told the API, by ``namespace/key``.
    """

    name: str
    node: str
    index: int
    id: int
    hostname: str
    ip: str
    power: Power = Power.OFF
    boot_id: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    is_preempted: bool = False
    maintenance_event: str = "NONE"
    upcoming_maintenance: Mapping[str, str] | None = None
    cut: frozenset[str] = frozenset()
    guest_attributes: Mapping[str, str] = field(default_factory=dict)
    clock_skew_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Operation:
    """A long-running call.  ``result`` is what it made, once it is done without an error.

    ``is_forgotten``: its caller has deleted it; what it started goes on.
    """

    name: str
    verb: str
    target: str
    created_at: float
    ended_at: float | None = None
    result: QueuedResource | Node | None = None
    error: JsonObject | None = None
    is_cancel_requested: bool = False
    is_forgotten: bool = False


def zone_of(name: str) -> str:
    """Return the zone of a resource or location name."""
    return name.split("/")[3]


def location_of(name: str) -> str:
    """Return ``projects/P/locations/Z`` of a resource name."""
    return "/".join(name.split("/")[:4])


def short(name: str) -> str:
    """Return the last part of a resource name."""
    return name.rpartition("/")[2]
