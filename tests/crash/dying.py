"""A world in which functions die, and the story of a job that must survive it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from shared.app import push
from shared.app.context import App
from shared.app.load import load
from shared.core.causes import Cause
from shared.core.policy import EMBEDDED
from shared.core.schedule import uncreated, undeleted, unwritten
from shared.core.stages import Stage
from shared.errors import Retryable
from shared.ports import Bus, Delivery, Message, Store
from tests.audit_entries import PREEMPTED, as_message, vm_entry
from tests.crash.faults import Death, Faults, broken
from tests.unit.app.records import JOB
from tests.unit.app.world import World, spec_of

# Each fault costs at most this: the intent comes due, and the next tick finds it.
DUE_S = EMBEDDED.intent_due_s + EMBEDDED.tick_s
LIMIT_S = 900.0
# Messages that nobody would send again.
POISON = (b"poison", b"dead")


class DyingWorld(World):
    """A world whose processes die where ``faults`` says.

    The message under way comes again, or never when ``is_losing``. After every fault, what was
    decided by then must be done within the due time of an intent.
    """

    def __init__(self, path: Path, faults: Faults, *, is_losing: bool = False) -> None:
        self.faults = faults
        self.deaths = 0
        self.promises: dict[str, datetime] = {}
        self._is_losing = is_losing
        super().__init__(path, policy=EMBEDDED)

    def make_app(self, store: Store, bus: Bus) -> App:
        """Put the control plane together, on ports that fail."""
        app = super().make_app(store, bus)
        return replace(app, **broken(app, self.slices, self.faults))

    def tick(self, after_s: float | None = None) -> None:
        """Tick, and see what became of what was promised."""
        super().tick(after_s)
        self._check_promises()

    def check_health(self) -> None:
        """Run the tick, which may die as well."""
        with self._as("health_check"), suppress(Death):
            with suppress(Retryable):  # the next tick is near
                super().check_health()
            return
        self._begin_again()

    def deliver(self, delivery: Delivery) -> None:
        """Hand over one message to a function that may die."""
        with self._as(delivery.subscription), suppress(Death):
            super().deliver(delivery)
            return
        self._begin_again(delivery)

    def handle(self, delivery: Delivery) -> push.Answer:
        """Let the function do its work; it may die before, or before anybody hears of it."""
        kind = delivery.message.attributes.get("kind", "")
        with self.faults.around("handle", f"{delivery.subscription} {kind}"):
            return super().handle(delivery)

    def open_work(self) -> set[str]:
        """Everything that was decided and is not known to be done."""
        found = {f"publish {fields['topic']}" for fields in self.all("outbox")}
        for fields in self.all("slices"):
            found |= self._intents(str(fields["name"]))
        return found

    def _intents(self, name: str) -> set[str]:
        loaded = load(self.app, name)
        assert loaded is not None, "a slice that was listed is there"
        now = loaded.situation
        return {
            *(f"write {each.number} {each.mandate.sequence}" for each in unwritten(now)),
            *(f"create {bid.name}" for _, bid in uncreated(now)),
            *(f"delete {bid.name}" for _, bid in undeleted(now)),
        }

    def _as(self, who: str) -> _Acting:
        return _Acting(self, who)

    def _begin_again(self, delivery: Delivery | None = None) -> None:
        """Throw away what was in memory; the message comes again, or never."""
        self.deaths += 1
        self.close()
        self.open()
        if delivery is not None and self._is_losing and delivery.message.data not in POISON:
            self.bus.ack(delivery)
        self.bus.release()

    def _check_promises(self) -> None:
        """What was open at a fault is done when its time is up."""
        now, open_ = self.clock.now(), self.open_work()
        late = [what for what, by in self.promises.items() if what in open_ and now > by]
        assert [] == late, f"{late} after {self.faults.met[-1]}: {self.story()}"
        self.promises = {what: by for what, by in self.promises.items() if what in open_}

    def promise(self, faults_before: int) -> None:
        """After a fault, everything that is open gets its time anew."""
        if len(self.faults.met) > faults_before:
            by = self.clock.now() + timedelta(seconds=DUE_S)
            self.promises = dict.fromkeys(self.open_work(), by)


class _Acting:
    """Says which use case is at work, and takes note of faults."""

    def __init__(self, world: DyingWorld, who: str) -> None:
        self._world, self._who, self._met = world, who, len(world.faults.met)

    def __enter__(self) -> None:
        self._world.faults.who = self._who

    def __exit__(self, *_: object) -> None:
        self._world.faults.who = ""
        self._world.promise(self._met)


def live_through_everything(world: World) -> None:
    """Submit, run, lose with notice, silently, by the log, fail once, be poisoned, succeed, go."""
    _submit(world)
    world.tick_until(world.runs_attempt(0), limit_s=LIMIT_S)
    world.publish("reports", Message(POISON[0], {"kind": "snapshot"}))
    world.hosts[0].checkpoint(10)
    world.hosts[1].notice()
    world.tick_until(world.runs_attempt(1), limit_s=LIMIT_S)
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(2), limit_s=LIMIT_S)
    entry = vm_entry(PREEMPTED, world.hosts[0].hostname, world.clock.now())
    world.slices.preempt(world.bid.name)
    world.publish("audit", as_message(entry))
    world.tick_until(world.runs_attempt(3), limit_s=LIMIT_S)
    world.publish("dead-letters", Message(POISON[1], {}))
    world.hosts[0].checkpoint(20)
    world.hosts[0].finish(1)
    world.tick_until(world.runs_attempt(4), limit_s=LIMIT_S)
    world.farm.each(lambda host: host.finish(0))
    world.tick_until(world.stands_at(Stage.SUCCEEDED), limit_s=LIMIT_S)
    world.tick_until_quiet()
    world.tick_until(lambda: not sum(world.bus.backlog().values()))


def _submit(world: World) -> None:
    """Order a job as a client does: the same order again until there is an outcome."""
    args: Mapping[str, object] = {"job": JOB, "spec": spec_of(), "slice_uid": "uid00001"}
    for _ in range(20):
        world.order("submit", args, order_id="submit")
        if world.store.get("commands/submit") is not None:
            return
        world.tick()
    raise AssertionError("the order has no outcome")


def check_all_is_well(world: World) -> None:
    """Everything happened once, and nothing is left."""
    causes = [attempt.cause for attempt in world.attempts()]
    assert [*[Cause.PREEMPTED] * 3, Cause.ERROR, Cause.SUCCEEDED] == causes
    assert [0, 1, 2, 3, 4] == [attempt.number for attempt in world.attempts()]
    assert 4 == world.slice().generation, "one new generation a loss"
    claims = [text for text in _texts(world) if "serves the slice" in text]
    assert len(claims) == len(set(claims)) == 4, "one claimed bid a generation"
    assert () == world.slices.names, "no orphan"
    assert [] == world.all("outbox")
    assert ["park", "report"] == sorted(_parked_by(world))
    assert 4 == len(world.all("ledger"))
    assert 1 == world.fields("owners/ada")["number"]


def _texts(world: World) -> list[str]:
    return [str(fields["text"]) for fields in world.all(f"jobs/{JOB}/timeline")]


def _parked_by(world: World) -> list[str]:
    sources = [str(fields["source"]) for fields in world.all("parked")]
    return ["park" if source == "dead-letters" else source for source in sources]
