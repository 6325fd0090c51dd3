"""An installation in one process: the real use cases, Store and Bus, over a fake cloud.

Time moves only when the test says so. ``drain`` delivers what is due until nothing is left to
do; ``tick`` is the tick, and what follows from it at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from shared.adapters.sqlite_bus import SqliteBus
from shared.adapters.sqlite_store import SqliteStore
from shared.app import health_check, push
from shared.app.context import App
from shared.catalog_data import load_catalog
from shared.core.orders import Outcome
from shared.core.policy import EMBEDDED, Policy
from shared.ports import Bus, Delivery, Message, Store
from shared.topology import EMBEDDED_SUBSCRIPTIONS
from tests.agents import Farm, Host
from tests.fakes import FakeBlobs, FakeClock, FakeSliceApi
from tests.unit.app.records import JOB, Condition, Records

OTHER_JOB = "job000000002"
OWNER = "ada"
ZONE = "us-central2-b"
CATALOG = load_catalog()
# More than any scenario needs: a world that does not come to rest is a bug.
DELIVERIES_MAX = 3000


class World(Records):
    """One installation, its cloud and its hosts.

    ``gives`` says whether the cloud grants requests and finishes preemptions by itself;
    ``chance`` delivers in any order, ``loses`` says which deliveries are lost.
    """

    def __init__(self, path: Path, *, policy: Policy = EMBEDDED) -> None:
        self.clock = FakeClock()
        self.slices = FakeSliceApi(self.clock)
        self.blobs = FakeBlobs(self.clock)
        self.farm = Farm(self.slices, self.blobs, self.clock)
        self.policy = policy
        self.gives = True
        self.chance: Random | None = None
        self.loses: Callable[[Delivery], bool] = lambda _: False
        self._path = path / "state.db"
        self._orders = 0
        self.open()

    def open(self) -> None:
        """Open the state file, as a new process does."""
        self.store = SqliteStore(self._path, self.clock)
        self.bus = SqliteBus(self._path, EMBEDDED_SUBSCRIPTIONS, self.clock)
        self.app = self.make_app(self.store, self.bus)

    def close(self) -> None:
        """Close the state file."""
        self.store.close()
        self.bus.close()

    def make_app(self, store: Store, bus: Bus) -> App:
        """Put the control plane together."""
        return App(
            store=store,
            bus=bus,
            blobs=self.blobs,
            slices=self.slices,
            clock=self.clock,
            policy=self.policy,
            catalog=CATALOG,
            installation="abc123",
            secret=b"a secret",
            project="sandbox",
            bucket="bucket",
            outputs_root="/outputs",
        )

    # --- Time and messages ----------------------------------------------------------------------

    def tick(self, after_s: float | None = None) -> None:
        """Let time pass, then tick; the cloud moves on first."""
        self.clock.advance(self.policy.tick_s if after_s is None else after_s)
        if self.gives:
            self.cloud_moves()
        self.check_health()
        self.drain()

    def check_health(self) -> None:
        """Run the tick alone."""
        health_check.run(self.app)

    def ticks(self, seconds: float, *, every_s: float = 1.0) -> None:
        """Let time pass with a tick now and then."""
        for _ in range(round(seconds / every_s)):
            self.tick(every_s)

    def tick_until(self, holds: Condition, *, limit_s: float = 120.0, every_s: float = 0.5) -> None:
        """Tick until something holds."""
        end = self.clock.now() + timedelta(seconds=limit_s)
        while not holds():
            assert self.clock.now() < end, f"did not hold after {limit_s} s: {self.story()}"
            self.tick(every_s)

    def drain(self) -> None:
        """Deliver what is due and let hosts act until nobody has anything to say."""
        for _ in range(DELIVERIES_MAX):
            acted = self.farm.act(self.bus)
            due = self._pull()
            for delivery in due:
                self.deliver(delivery)
            if not due and not acted:
                return
        raise AssertionError("the messages do not come to an end")

    def deliver(self, delivery: Delivery) -> None:
        """Hand over one message as the bus does."""
        if self.loses(delivery):
            self.bus.ack(delivery)
            return
        answer = self.handle(delivery)
        if answer.retry:
            self.bus.retry(delivery, after_s=answer.retry_after_s)
        else:
            self.bus.ack(delivery)

    def handle(self, delivery: Delivery) -> push.Answer:
        """Let the function do its work."""
        return push.receive(self.app, delivery)

    def _pull(self) -> list[Delivery]:
        names = [subscription.name for subscription in EMBEDDED_SUBSCRIPTIONS]
        due = [delivery for name in names for delivery in self.bus.pull(name, limit=50)]
        if self.chance is not None:
            self.chance.shuffle(due)
        return due

    def publish(self, topic: str, message: Message) -> None:
        """Say something on a topic, and let everybody act on it."""
        self.bus.publish(topic, [message])
        self.drain()

    # --- The cloud ------------------------------------------------------------------------------

    def cloud_moves(self) -> None:
        """Grant what waits, boot it, and finish preemptions."""
        for name in self.slices.names:
            state = self.slices._held[name].shown.state
            if state == "WAITING_FOR_RESOURCES":
                self.give(name)
            elif state == "SUSPENDING":
                self.slices.suspend(name)

    def give(self, name: str) -> list[Host]:
        """Grant a request and boot its hosts."""
        self.slices.make_ready(name)
        return self.farm.boot(name)

    # --- Orders ---------------------------------------------------------------------------------

    def order(self, kind: str, args: Mapping[str, object], *, order_id: str = "") -> str:
        """Give an order and let everybody act on it; return its id."""
        self._orders += 1
        order_id = order_id or f"order-{self._orders}"
        fields = {"version": 1, "id": order_id, "kind": kind, "owner": OWNER, "args": args}
        message = Message(json.dumps(fields).encode(), {"kind": "command", "version": "1"})
        self.publish("commands", message)
        return order_id

    def submit(
        self, job: str = JOB, *, place: str | None = None, name: str | None = None, **spec: Any
    ) -> Outcome:
        """Order a job."""
        args = {"job": job, "spec": spec_of(**spec), "slice_uid": f"uid{job[-5:]}"}
        args |= {key: value for key, value in (("on", place), ("slice", name)) if value is not None}
        if place is not None:
            args["spec"] = {**spec_of(**spec), "accelerator_type": spec.get("accelerator_type")}
        return self.outcome(self.order("submit", args))

    def stop(self, job: str = JOB, *, kill: bool = False) -> Outcome:
        """Order a job to stop."""
        return self.outcome(self.order("stop", {"job": job, "kill": kill}))

    def again(self, kind: str = "resume", job: str = JOB, **args: object) -> Outcome:
        """Order a job that is over to go on, or to begin again."""
        fields: dict[str, object] = {"job": job, "slice_uid": f"new{job[-5:]}", **args}
        fields.setdefault("seen_attempt", self.job(job).attempt)
        return self.outcome(self.order(kind, fields))

    def release(self, name: str) -> Outcome:
        """Order a slice to be let go."""
        return self.outcome(self.order("release", {"slice": name}))

    def create_slice(self, name: str = "mine", **args: object) -> Outcome:
        """Order a slice of its own."""
        fields = {"slice": name, "slice_uid": "named001", "accelerator_type": "v4-16"}
        return self.outcome(self.order("slice-create", {**fields, "zones": [ZONE], **args}))

    def change_slice(self, kind: str, name: str) -> Outcome:
        """Order a slice to be made again, or its hosts to reboot."""
        return self.outcome(self.order(f"slice-{kind}", {"slice": name}))

    def adopt(self, node: str = "theirs", **args: object) -> Outcome:
        """Order a node that others made to be adopted."""
        fields = {"slice": node, "slice_uid": "adopt001", "node": node, "zone": ZONE, **args}
        return self.outcome(self.order("slice-adopt", fields))

    # --- Ways to get somewhere ------------------------------------------------------------------

    def run_job(self, job: str = JOB, **spec: Any) -> None:
        """Submit a job and wait until its first attempt runs."""
        outcome = self.submit(job, **spec)
        assert outcome.outcome == "accepted", outcome.reason
        self.tick_until(self.runs_attempt(0, job))

    def finish_job(self, exit_code: int = 0) -> None:
        """Let the command end on all hosts, and everybody hear of it."""
        self.farm.each(lambda host: host.finish(exit_code))
        self.drain()

    def deafen(self) -> None:
        """Let no host obey its mandate any more."""
        for host in self.hosts:
            host.obeys = False

    def lose_with_every_sign(self) -> None:
        """Take the first slice away, by a notice, in the listing and as suspended; go on."""
        lost = self.bid.name
        self.deafen()
        self.hosts[0].notice()
        self.drain()
        self.slices.preempt(lost)
        self.tick_until(self.runs_attempt(1))

    def tick_until_quiet(self) -> None:
        """Wait until all that was decided is done and nothing costs anything."""
        self.tick_until(self.is_quiet, limit_s=600.0, every_s=1.0)
        self.tick_until(lambda: not any(fields["live"] for fields in self.all("slices")))


def grant_of(**changes: Any) -> dict[str, object]:
    """Write what `tpuctl grant add` says."""
    base = {
        "name": "trc",
        "zones": [ZONE],
        "types": ["v4"],
        "tiers": ["spot"],
        "chips": 16,
        "until": "2035-01-31",
    }
    return {**base, **changes}


def spec_of(**changes: Any) -> dict[str, object]:
    """Write a job spec."""
    base = {
        "name": "digits",
        "command": ["python", "train.py"],
        "accelerator_type": "v4-16",
        "zones": [ZONE],
        "grace_s": 5.0,
    }
    return {**base, **changes}
