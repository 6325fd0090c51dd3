"""A TPU cloud in virtual time, with the quirks of the real one (states, slowness, errors).

It keeps requests (queued resources) with one node each. Whether a slice is taken away, and when,
is drawn when it is granted; what a host does is its own affair (``hosts``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shared.core.cloud import BidRequest, CloudRequest, Listing
from shared.errors import Busy, QuotaExceeded, Stockout
from tests.simulation.chance import Chance, Fault
from tests.simulation.claims import claim
from tests.simulation.engine import Engine
from tests.simulation.requested import Request, existing, show
from tests.simulation.troubles import late_s, may_fail

BOOT_S = (20.0, 90.0)
# Some zones give at once, others after minutes.
PROVISION_MEANS_S = (15.0, 60.0, 400.0)
LOOK_AGAIN_S = 300.0
STALE_S = 90.0
# Shorter than what the control plane takes for a proof (30 s between two looks).
HIDDEN_S = 25.0


class Cloud:
    """Zones with capacity, and the requests in them."""

    def __init__(self, engine: Engine, chance: Chance, capacity: Mapping[str, int]) -> None:
        self.engine, self.chance = engine, chance
        self.capacity = dict(capacity)
        self.quota = dict.fromkeys(capacity, 10000)
        self.dry: set[str] = set()
        self.requests: dict[str, Request] = {}
        self.changes = 0
        self.creates: list[tuple[float, str]] = []
        self.granted: Callable[[Request], None] = lambda _: None
        self.removing: Callable[[Request], None] = lambda _: None
        self.deleting: Callable[[str, str], None] = lambda *_: None
        self.created: Callable[[BidRequest], None] = lambda _: None
        self.rung: Callable[[Request], None] = lambda _: None
        self._operations: dict[str, str] = {}
        self._made = 0
        self._listed: dict[tuple[str, ...], tuple[float, Listing]] = {}

    # --- The port -------------------------------------------------------------------------------

    def create(self, request: BidRequest) -> str:
        """Ask for a queued resource."""
        may_fail(self.chance, "create")
        self.created(request)
        self.creates.append((self.engine.now, request.name))
        held = self.requests.get(request.name)
        if held is not None:
            return existing(held, request)
        if self.chance.hits(Fault.STOCKOUTS, 0.05):
            raise Stockout("nothing left", zone=request.zone)
        if self._count(request.zone) >= self.quota[request.zone]:
            raise QuotaExceeded("the quota is used up")
        return self._make(request)

    def operation_error(self, operation: str) -> str | None:
        """Say what an operation failed with."""
        may_fail(self.chance, "operation")
        return self._operations.get(operation)

    def get(self, zone: str, name: str) -> CloudRequest | None:
        """Read one request."""
        may_fail(self.chance, "get")
        held = self.requests.get(name)
        if held is None or held.is_lent or held.asked.zone != zone or self._is_hidden(held):
            return None
        return show(held)

    def list(self, zones: Sequence[str]) -> Listing:
        """List zones; each may be left out, and what is listed may be old."""
        may_fail(self.chance, "list")
        key = tuple(zones)
        last = self._listed.get(key)
        is_recent = last is not None and self.engine.now - last[0] <= STALE_S
        if last is not None and is_recent and self.chance.hits(Fault.STALE_LISTINGS, 0.15):
            return last[1]
        lost = {zone for zone in zones if self.chance.hits(Fault.PARTIAL_LISTINGS, 0.1)}
        complete = frozenset(zones) - lost
        seen = [
            held
            for held in self.requests.values()
            if held.asked.zone in complete and not self._is_hidden(held)
        ]
        listing = Listing(
            tuple(show(held) for held in seen if not held.is_lent),
            complete,
            tuple(f"{zone}: unreachable" for zone in sorted(lost)),
            tuple(show(held) for held in seen if held.is_lent),
        )
        self._listed[key] = (self.engine.now, listing)
        return listing

    def delete(self, zone: str, name: str) -> None:
        """Delete a request with its node; it takes a while, or does not end."""
        may_fail(self.chance, "delete")
        held = self.requests.get(name)
        if held is None or held.is_coming or held.asked.zone != zone:
            return
        self.deleting(zone, name)
        if held.state == "SUSPENDING":
            raise Busy(f"{name} is in state SUSPENDING")
        if held.state == "DELETING":
            return
        self._set(held, state="DELETING", initiator="USER")
        # What is out of reach is so for more than one reason at a time.
        is_far = any(host.is_out_of_reach for host in held.hosts)
        if self.chance.hits(Fault.STUCK_DELETES, 0.9 if is_far else 0.4):
            return
        self.engine.after(self.chance.of("deletes").uniform(20.0, 200.0), lambda: self.end(name))

    def find(self, zone: str, node: str) -> CloudRequest | None:
        """Read a node by its own name, whoever made it."""
        may_fail(self.chance, "find")
        held = self.requests.get(node)
        is_seen = held is not None and held.node_state and not self._is_hidden(held)
        return show(held) if held and is_seen and held.asked.zone == zone else None

    def remove(self, zone: str, node: str, uid: str) -> None:
        """Delete a node that others made, if it is the one meant."""
        may_fail(self.chance, "delete")
        held = self.requests.get(node)
        if held is None or not held.is_lent or (held.asked.zone, held.node_uid) != (zone, uid):
            return
        self.removing(held)
        if held.node_state != "DELETING":
            self._set(held, node_state="DELETING")
            wait_s = self.chance.of("deletes").uniform(20.0, 200.0)
            self.engine.after(wait_s, lambda: self._end_lent(held))

    def ring(self, zone: str, node: str, value: str) -> None:  # noqa: ARG002 - it only rings
        """Ring, if the node is READY; the map may be put back by somebody else."""
        may_fail(self.chance, "ring")
        held = self.requests.get(node)
        if held is None or held.node_state != "READY":
            return
        claim(not held.is_lent, f"{node} is other people's, and its metadata was written")
        if not self.chance.hits(Fault.ERASED_BELL, 0.5):
            self.rung(held)

    # --- What happens in the cloud --------------------------------------------------------------

    def end(self, name: str) -> None:
        """Finish a delete: the hosts lose their power before the request is gone."""
        held = self.requests.pop(name, None)
        if held is not None:
            self._power_off(held)
            self.changes += 1

    def lend(self, asked: BidRequest) -> Request:
        """Let other people make a node, with no queued resource that could be seen."""
        self._made += 1
        uid = f"node-{self._made}@{self.engine.time.isoformat()}"
        held = Request(asked, "", "ACTIVE", node_state="READY", node_uid=uid, is_lent=True)
        self.requests[asked.name] = held
        self.changes += 1
        return held

    def _end_lent(self, held: Request) -> None:
        if self.requests.get(held.asked.name) is held:
            self.end(held.asked.name)

    def preempt(self, held: Request) -> None:
        """Take a node away: its hosts are dead before anybody can see it."""
        if held.state != "ACTIVE" or self.requests.get(held.asked.name) is not held:
            return
        self._power_off(held)
        show_s = self.chance.of("preemptions").uniform(1.0, 60.0)
        self.engine.after(show_s, lambda: self._preempted(held))

    def _preempted(self, held: Request) -> None:
        if held.state != "ACTIVE":
            return
        if held.is_lent:
            self._set(held, node_state="PREEMPTED")
            return
        self._set(held, state="SUSPENDING", initiator="SERVICE", node_state="PREEMPTED")
        wait_s = self.chance.of("preemptions").uniform(30.0, 400.0)
        self.engine.after(wait_s, lambda: self._suspended(held))

    def _suspended(self, held: Request) -> None:
        if held.state == "SUSPENDING":
            self._set(held, state="SUSPENDED", node_state="")

    def stop_node(self, held: Request, state: str) -> None:
        """Terminate or stop a node."""
        if held.state == "ACTIVE":
            self._power_off(held)
            self._set(held, node_state=state)

    def flap(self, held: Request) -> None:
        """Repair a node for some minutes; what runs on it goes on."""
        if held.node_state == "READY":
            self._set(held, node_state="REPAIRING")
            self.engine.after(400.0, lambda: self._repaired(held))

    def hide(self, held: Request) -> None:
        """Answer that a request is not there, for less than two looks apart; it is."""
        if held.state == "ACTIVE":
            held.hidden_until = self.engine.now + HIDDEN_S
            self.changes += 1
            self.engine.after(HIDDEN_S, self._appear_again)

    def _appear_again(self) -> None:
        self.changes += 1

    def _is_hidden(self, held: Request) -> bool:
        return held.is_coming or self.engine.now < held.hidden_until

    def _repaired(self, held: Request) -> None:
        if held.node_state == "REPAIRING":
            self._set(held, node_state="READY")

    def is_full(self, zone: str) -> bool:
        """Say whether a zone has nothing left to give."""
        used = sum(each.holds_chips for each in self.requests.values() if each.asked.zone == zone)
        return zone in self.dry or used >= self.capacity[zone]

    def finish_everything(self) -> None:
        """End every delete that hangs."""
        for name in [name for name, held in self.requests.items() if held.state == "DELETING"]:
            self.end(name)

    def _make(self, request: BidRequest) -> str:
        self._made += 1
        operation = f"operations/{self._made}"
        self._operations[operation] = ""
        held = Request(request, operation)
        chance = self.chance.of("creates")
        mean_s = chance.choice(PROVISION_MEANS_S)
        provision_s = chance.expovariate(1 / mean_s) + 10.0
        if self.chance.hits(Fault.FAILED_CREATES, 0.1):
            self._fail(held, chance.random() < 1 / 2, provision_s)
            return operation
        self.requests[request.name] = held
        self.changes += 1
        late_by = late_s(self.chance)
        if late_by is not None:
            held.is_coming = True
            self.engine.after(late_by, lambda: self._appear(held))
            provision_s += late_by
        self.engine.after(provision_s, lambda: self._grant(held))
        return operation

    def _fail(self, held: Request, is_seen: bool, after_s: float) -> None:  # noqa: FBT001
        """Let a create fail: as an operation alone, or as a request that is there and FAILED."""
        if is_seen:
            self.requests[held.asked.name] = held
            self.changes += 1
            self.engine.after(
                after_s, lambda: self._set(held, state="FAILED", reason="no capacity")
            )
        else:
            self._operations[held.operation] = "there is no more capacity in the zone"

    def _appear(self, held: Request) -> None:
        held.is_coming = False
        self.changes += 1

    def _grant(self, held: Request) -> None:
        name, zone = held.asked.name, held.asked.zone
        if self.requests.get(name) is not held or held.state != "WAITING_FOR_RESOURCES":
            return
        if self.is_full(zone):
            self.engine.after(LOOK_AGAIN_S, lambda: self._grant(held))
            return
        self._made += 1
        self._set(held, state="ACTIVE", node_state="READY", node_uid=f"node-{self._made}")
        self.granted(held)

    def _power_off(self, held: Request) -> None:
        for host in held.hosts:
            host.power_off()

    def _count(self, zone: str) -> int:
        return sum(held.asked.zone == zone for held in self.requests.values())

    def _set(self, held: Request, **changes: str) -> None:
        for name, value in changes.items():
            setattr(held, name, value)
        held.shown = None
        self.changes += 1
