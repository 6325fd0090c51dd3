"""Everything the simulated cloud knows, and the bookkeeping that all of its parts share.

Holds no rule about what may become of what; those are in ``nodes.py`` and ``queued.py``.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from sandbox.audit_log import AuditLog
from sandbox.errors import ApiError
from sandbox.resources import (
    Host,
    Node,
    Operation,
    QueuedResource,
    location_of,
    zone_of,
)
from sandbox.timers import Timers
from shared.catalog_data import load_catalog
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from sandbox.resources import NodeSpec
    from sandbox.settings import Settings

# Google keeps them for about 30 days.
OPERATIONS_KEPT = 5_000


class Ledger:
    """The records by name, the timers, the time and the source of chance.

    ``pending`` holds queued resources whose create operation still runs: they do not exist
    yet, but hold their name and their quota.
    """

    def __init__(self, settings: Settings, *, now: float, chance: Random) -> None:
        self.settings = settings
        self.now = now
        self.chance = chance
        self.catalog = load_catalog()
        self.zones = frozenset(
            zone for offer in self.catalog.generations.values() for zone in offer.zones
        )
        self.timers = Timers()
        self.queued: dict[str, QueuedResource] = {}
        self.pending: dict[str, QueuedResource] = {}
        self.nodes: dict[str, Node] = {}
        self.hosts: dict[str, Host] = {}
        self.operations: dict[str, Operation] = {}
        self.audit = AuditLog(self)
        # By verb, target and request id.
        self.operation_of_request: dict[tuple[str, str, str], str] = {}

    def after(self, delay_s: float, kind: str, target: str, detail: str = "") -> None:
        """Set a timer from now on; the cloud's speed divides every delay."""
        self.timers.set(self.now + delay_s / self.settings.speed, kind, target, detail)

    def duration_of(self, method: str, usual_s: float) -> float:
        """Return how long the operation of a call takes; uses up an order to be slow."""
        delays = list(self.settings.delays)
        for index, delay in enumerate(delays):
            if fnmatchcase(method, delay.method):
                left = delay.model_copy(update={"count": delay.count - 1})
                delays[index : index + 1] = [left] if left.count else []
                self.settings = self.settings.model_copy(update={"delays": tuple(delays)})
                return delay.delay_s
        return usual_s

    def quota_of(self, place: str, generation: str, tier: Tier) -> int | None:
        """Return how many chips the project may hold, or None for any number."""
        name = f"{place}/{generation}/{tier}"
        limits = (self.settings.quota.get(name), self.settings.quota_cuts.get(name))
        return min((limit for limit in limits if limit is not None), default=None)

    # --- Operations ---------------------------------------------------------------------------

    def start_operation(self, verb: str, target: str) -> Operation:
        """Record that a long-running call was accepted."""
        unique = f"{int(self.now * 1000)}-{self.chance.getrandbits(48):012x}"
        name = f"{location_of(target)}/operations/operation-{unique}"
        self._forget_the_oldest()
        self.operations[name] = Operation(name, verb, target, self.now)
        self.audit.called(verb, target)
        return self.operations[name]

    def _forget_the_oldest(self) -> None:
        """Make room: operations that ended long ago are of use to nobody."""
        if len(self.operations) < OPERATIONS_KEPT:
            return
        ended = [each.name for each in self.operations.values() if each.ended_at is not None]
        for name in ended[: OPERATIONS_KEPT // 10]:
            del self.operations[name]
        requests = self.operation_of_request.items()
        self.operation_of_request = {key: name for key, name in requests if name in self.operations}

    def end_operation(
        self,
        name: str,
        *,
        result: QueuedResource | Node | None = None,
        error: ApiError | None = None,
    ) -> None:
        """Record how a long-running call ended."""
        operation = self.operations[name]
        assert operation.ended_at is None, "an operation ends once"
        status = error.rpc_status() if error else None
        self.operations[name] = replace(operation, ended_at=self.now, result=result, error=status)

    def start_failing(self, verb: str, target: str, error: ApiError) -> Operation:
        """Record a call whose operation will end with an error and nothing else."""
        operation = self.start_operation(verb, target)
        fate = json.dumps([operation.name, error.status, error.message])
        self.after(self.settings.create_operation_s, "operation-failed", target, fate)
        return operation

    def fail_operation(self, _target: str, fate: str) -> None:
        """Let an operation end as it was meant to."""
        operation, status, message = json.loads(fate)
        self.end_operation(operation, error=ApiError(status, message))

    def forget_operation(self, name: str) -> None:
        """Let nobody find an operation any more; what it started goes on."""
        self.operations[name] = replace(self.operations[name], is_forgotten=True)

    def ask_to_cancel(self, name: str) -> None:
        """Note down that an operation shall be given up; it need not be."""
        if self.operations[name].ended_at is None:
            self.operations[name] = replace(self.operations[name], is_cancel_requested=True)

    def is_open(self, name: str) -> bool:
        """Tell whether an operation still runs; one that was dropped does not."""
        operation = self.operations.get(name)
        return operation is not None and operation.ended_at is None

    def open_operations(self, verb: str, target: str) -> list[str]:
        """Return the names of the calls of this kind that still run."""
        return [
            operation.name
            for operation in self.operations.values()
            if (operation.verb, operation.target, operation.ended_at) == (verb, target, None)
        ]

    def repeated(self, verb: str, target: str, request_id: str) -> Operation | None:
        """Return the operation that an earlier call of this kind with this id started."""
        name = self.operation_of_request.get((verb, target, request_id)) if request_id else None
        return self.operations.get(name) if name else None

    def remember_request(self, request_id: str, operation: Operation) -> None:
        """Let a repetition of this request find its operation."""
        if request_id:
            key = (operation.verb, operation.target, request_id)
            self.operation_of_request[key] = operation.name

    # --- What is used -------------------------------------------------------------------------

    def nodes_of(self, queued_resource: str) -> list[Node]:
        """Return the nodes that exist for a queued resource."""
        return [node for node in self.nodes.values() if node.queued_resource == queued_resource]

    def taken_node_names(self) -> set[str]:
        """Return every node name that exists or is promised to a queued resource."""
        promised = {
            node_name(location_of(queued.name), spec)
            for queued in (*self.pending.values(), *self.queued.values())
            for spec in queued.specs
        }
        return promised | set(self.nodes)

    def chips_held(self, place: str, generation: str, tier: Tier) -> int:
        """Return the chips that count against a quota: also suspended and failed requests.

        ``place`` is a region or a zone.
        """
        return sum(
            spec.chips
            for name, spec in self._holders()
            if place in (zone_of(name), region_of(zone_of(name)))
            and self.catalog.accelerators[spec.accelerator_type].generation == generation
            and spec.tier == tier
        )

    def _holders(self) -> Iterable[tuple[str, NodeSpec]]:
        for queued in (*self.pending.values(), *self.queued.values()):
            yield from ((queued.name, spec) for spec in queued.specs)
        for node in self.nodes.values():
            if not node.queued_resource:
                yield node.name, node.spec


def node_name(location: str, spec: NodeSpec) -> str:
    """Return the full name of the node that a spec asks for."""
    return f"{location}/nodes/{spec.wish.node_id}"


def region_of(zone: str) -> str:
    """Return the region that a zone lies in."""
    return zone.rpartition("-")[0]
