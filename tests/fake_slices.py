"""A TPU cloud in memory. Use it through ``tests.fakes``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.errors import Busy, ControlPlaneError, InvalidRequest
from shared.ports import BidRequest, Clock, CloudNode, CloudRequest, Listing
from tests.fake_world import FailurePlan, FakeClock


@dataclass(frozen=True, slots=True)
class _Held:
    """One queued resource of the fake cloud with what was asked for."""

    asked: BidRequest
    operation: str
    shown: CloudRequest


class FakeSliceApi:
    """A TPU cloud in memory whose every step is taken by the test.

    A created request waits until ``make_ready``; with ``slow_creates`` and ``slow_deletes`` it
    comes and goes only with ``finish_create`` and ``finish_delete``. Names are unique across
    zones here, so the helpers need a name only. ``calls`` counts what was asked, ``bells`` keeps
    what was rung.
    """

    def __init__(self, clock: Clock | None = None, *, hosts: int = 2) -> None:
        self.plan = FailurePlan()
        self.calls: Counter[str] = Counter()
        self.bells: dict[str, str] = {}
        self.unreachable: set[str] = set()
        self.slow_creates = False
        self.slow_deletes = False
        self._clock = clock or FakeClock()
        self._hosts = hosts
        self._held: dict[str, _Held] = {}
        self._coming: dict[str, _Held] = {}
        self._operations: dict[str, str] = {}
        self._made: Counter[str] = Counter()
        self.others: dict[str, CloudRequest] = {}

    # The port.

    def create(self, request: BidRequest) -> str:
        """Ask for a queued resource."""
        self.calls["create"] += 1
        with self.plan.around("create"):
            return self._create(request)

    def operation_error(self, operation: str) -> str | None:
        """Say what an operation failed with."""
        self.calls["operation_error"] += 1
        with self.plan.around("operation_error"):
            return self._operations.get(operation)

    def get(self, zone: str, name: str) -> CloudRequest | None:
        """Read one queued resource and its nodes."""
        self.calls["get"] += 1
        with self.plan.around("get"):
            held = self._held.get(name)
            return held.shown if held and held.shown.zone == zone else None

    def list(self, zones: Sequence[str]) -> Listing:
        """List several zones at once."""
        self.calls["list"] += 1
        with self.plan.around("list"):
            complete = frozenset(zones) - self.unreachable
            return Listing(
                tuple(held.shown for held in self._held.values() if held.shown.zone in complete),
                complete,
                tuple(f"{zone}: unreachable" for zone in sorted(set(zones) - complete)),
                tuple(other for other in self.others.values() if other.zone in complete),
            )

    def delete(self, zone: str, name: str) -> None:
        """Delete a queued resource with its nodes."""
        self.calls["delete"] += 1
        with self.plan.around("delete"):
            held = self._held.get(name)
            if held is None or held.shown.zone != zone:
                return
            if held.shown.state == "SUSPENDING":
                raise Busy(f"{name} is in state SUSPENDING")
            self._show(name, lambda shown: replace(shown, state="DELETING", initiator="USER"))
            if not self.slow_deletes:
                self.finish_delete(name)

    def find(self, zone: str, node: str) -> CloudRequest | None:
        """Read a node that others made."""
        self.calls["find"] += 1
        with self.plan.around("find"):
            other = self.others.get(node)
            return other if other and other.zone == zone else None

    def remove(self, zone: str, node: str, uid: str) -> None:
        """Delete a node that others made, if it is the one meant."""
        self.calls["remove"] += 1
        with self.plan.around("remove"):
            other = self.others.get(node)
            if other is not None and (other.zone, other.nodes[0].uid) == (zone, uid):
                del self.others[node]

    def ring(self, zone: str, node: str, value: str) -> None:
        """Set the bell of a node that is READY; nothing happens to any other."""
        self.calls["ring"] += 1
        with self.plan.around("ring"):
            held = self._held.get(node)
            shown = held.shown if held else self.others.get(node)
            nodes = shown.nodes if shown and shown.zone == zone else ()
            if any(found.state == "READY" for found in nodes):
                self.bells[node] = value

    # What a test makes happen in the cloud.

    @property
    def names(self) -> tuple[str, ...]:
        """All queued resources that exist, in the order of their creation."""
        return tuple(self._held)

    def asked(self, name: str) -> BidRequest:
        """Return what was asked for by a name."""
        return self._held[name].asked

    def plant(self, name: str, zone: str, **changes: Any) -> CloudNode:
        """Let somebody else make a node, or make another one of the same name."""
        self._made["node"] += 1
        node = CloudNode(
            name=name,
            zone=zone,
            uid=f"{self._made['node']}@{self._clock.now().isoformat()}",
            state="READY",
            health="HEALTHY",
            hosts=self._hosts,
            labels={},
            accelerator_type="v4-16",
            runtime_version="tpu-ubuntu2204-base",
        )
        self.replant(replace(node, **changes))
        return self.others[name].nodes[0]

    def replant(self, node: CloudNode) -> None:
        """Put a node that others made into any state."""
        self.others[node.name] = CloudRequest(
            name=node.name, zone=node.zone, state="ACTIVE", reason="", initiator="", nodes=(node,)
        )

    def fail_next(
        self, method: str, error: ControlPlaneError, *, count: int = 1, after_effect: bool = False
    ) -> None:
        """Let the next calls of a method raise; ``after_effect`` means the reply is lost."""
        self.plan.fail_next(method, error, count=count, after_effect=after_effect)

    def make_ready(self, name: str) -> CloudNode:
        """Grant a request: ACTIVE, with one READY and healthy node of the same name."""
        node = self._new_node(self._held[name].asked)
        self._show(name, lambda shown: replace(shown, state="ACTIVE", nodes=(node,)))
        return node

    def set_state(self, name: str, state: str, *, reason: str = "") -> None:
        """Put a request into any state (PROVISIONING, FAILED, …)."""
        self._show(name, lambda shown: replace(shown, state=state, reason=reason))

    def set_node(self, name: str, *, state: str = "READY", health: str = "HEALTHY") -> None:
        """Put the node of a request into any state and health."""
        self._show(
            name,
            lambda shown: replace(
                shown,
                nodes=tuple(replace(node, state=state, health=health) for node in shown.nodes),
            ),
        )

    def preempt(self, name: str) -> None:
        """Take the capacity away: node PREEMPTED, request SUSPENDING."""
        self.set_node(name, state="PREEMPTED")
        self._show(name, lambda shown: replace(shown, state="SUSPENDING", initiator="SERVICE"))

    def suspend(self, name: str) -> None:
        """Finish a preemption: the node is gone, the request SUSPENDED and still in the way."""
        self._show(
            name,
            lambda shown: replace(shown, state="SUSPENDED", initiator="SERVICE", nodes=()),
        )

    def vanish(self, name: str) -> None:
        """Let somebody else delete a request with its nodes."""
        del self._held[name]

    def finish_create(self, name: str) -> None:
        """End a slow create: only now does the request exist."""
        self._held[name] = self._coming.pop(name)

    def finish_delete(self, name: str) -> None:
        """End a slow delete."""
        del self._held[name]

    def fail_operation(self, name: str, text: str) -> None:
        """Let the create operation of a request fail: nothing came to be."""
        held = self._coming.pop(name, None) or self._held.pop(name)
        self._operations[held.operation] = text

    def forget_operations(self) -> None:
        """Lose all operations, as the cloud does after some days."""
        self._operations.clear()

    def _create(self, request: BidRequest) -> str:
        held = self._held.get(request.name) or self._coming.get(request.name)
        if held is not None:
            return _existing(held, request)
        self._made["operation"] += 1
        number = self._made["operation"]
        operation = f"projects/fake/locations/{request.zone}/operations/{number}"
        self._operations[operation] = ""
        shown = CloudRequest(
            name=request.name,
            zone=request.zone,
            state="WAITING_FOR_RESOURCES",
            reason="",
            initiator="USER",
            nodes=(),
            labels=dict(request.labels),
        )
        place = self._coming if self.slow_creates else self._held
        place[request.name] = _Held(request, operation, shown)
        return operation

    def _new_node(self, asked: BidRequest) -> CloudNode:
        self._made["node"] += 1
        return CloudNode(
            name=asked.name,
            zone=asked.zone,
            uid=f"{self._made['node']}@{self._clock.now().isoformat()}",
            state="READY",
            health="HEALTHY",
            hosts=self._hosts,
            labels=dict(asked.labels),
        )

    def _show(self, name: str, change: Callable[[CloudRequest], CloudRequest]) -> None:
        held = self._held[name]
        self._held[name] = replace(held, shown=change(held.shown))


def _existing(held: _Held, request: BidRequest) -> str:
    """Answer a create whose name is taken."""
    if held.shown.state == "DELETING":
        raise Busy(f"{request.name} is being deleted")
    if not owns(held.asked.labels, request.labels):
        raise InvalidRequest(f"{request.name} belongs to somebody else: {dict(held.asked.labels)}")
    return held.operation if held.asked.request_id == request.request_id else ""


def owns(found: Mapping[str, str], ours: Mapping[str, str]) -> bool:
    """Tell whether all our labels are on what was found."""
    return all(found.get(key) == value for key, value in ours.items())
