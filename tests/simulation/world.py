"""One installation in a simulated world: the real use cases over ports in virtual time.

A seed decides everything. First comes chaos, then calm, in which all that was begun must come
to its end; invariants are looked at with every step (``checks``), liveness at the end (``ending``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from shared.app import health_check, push
from shared.app.context import App
from shared.catalog_data import load_catalog
from shared.core.policy import Policy
from shared.deadline import Deadline
from shared.errors import ControlPlaneError
from shared.ports import Delivery, Message
from tests.simulation.bus import LIMIT_S, Network
from tests.simulation.chance import Chance, Fault
from tests.simulation.checks import Checks
from tests.simulation.cloud import Cloud
from tests.simulation.ending import orphans
from tests.simulation.engine import Death, Engine, SimClock
from tests.simulation.hearing import Hearing
from tests.simulation.hosts import Host
from tests.simulation.lent import Lent
from tests.simulation.memory_store import MemoryStore
from tests.simulation.people import People
from tests.simulation.ports import Calls, SimBlobs, SimBus, SimSlices, SimStore
from tests.simulation.programs import Programs
from tests.simulation.requested import Request
from tests.simulation.storage import Key, Storage
from tests.simulation.surroundings import Surroundings
from tests.simulation.weather import HOUR_S, Weather

CATALOG: Final = load_catalog()
ZONES: Final = ("us-east5-a", "us-central1-a", "europe-west4-b")
INSTALLATION: Final = "abc123"
# As on Google Cloud, but that hosts speak, and are given up, at longer intervals: most of what a
# quiet world would do is to hear that nothing has changed.
POLICY: Final = Policy(snapshot_s=300.0, silent_host_s=900.0, silent_slice_s=1800.0)
# What a version before this one does not know, and does not keep.
LATE_FIELDS: Final = frozenset({"stuck_since", "summary"})


@dataclass(frozen=True, slots=True)
class Size:
    """How big a world is, and how long it lasts.

    ``storm_at_s`` is when every node of every zone is taken away at once, in seconds.
    """

    jobs: int = 5
    chaos_s: float = 3 * HOUR_S
    calm_s: float = 3 * HOUR_S
    capacity: Mapping[str, int] | None = None
    storm_at_s: float | None = None


def storm_of(jobs: int) -> Size:
    """Give many slices, all of which are lost at one moment, an hour after the first began."""
    return Size(
        jobs=jobs,
        chaos_s=2 * HOUR_S,
        calm_s=4 * HOUR_S,
        capacity=dict.fromkeys(ZONES, jobs),
        storm_at_s=1.1 * HOUR_S,
    )


class World:
    """Everything there is in one seed."""

    def __init__(
        self,
        seed: int,
        size: Size = Size(),
        *,
        without: frozenset[Fault] = frozenset(),
    ) -> None:
        self.seed, self.size = seed, size
        self.chance = Chance(seed, without=without)
        self.engine = Engine()
        self.is_deploying = False
        self.is_ticking = False
        self.commits = self.ticks = self.ticks_skipped = 0
        self.bugs: list[BaseException] = []
        self.hosts: dict[str, Host] = {}
        self._quiet: tuple[int, ...] = ()
        self._build()
        self._connect()
        self.app = self._app(0.0)
        self._apps: dict[str, App] = {}

    def _build(self) -> None:
        engine, chance = self.engine, self.chance
        capacity = self.size.capacity or dict.fromkeys(ZONES, chance.of("size").choice([2, 4, 9]))
        self.store = MemoryStore(SimClock(engine), is_checked=False)
        self.network = Network(engine, chance)
        self.storage = Storage(SimClock(engine))
        self.cloud = Cloud(engine, chance, capacity)
        self.programs = Programs(engine, chance, self.storage)
        self.hearing = Hearing(engine, POLICY.tick_s, POLICY.snapshot_s)
        skew_s = chance.of("skew").uniform(-600, 600) if chance.has(Fault.CLOCK_SKEW) else 0.0
        self.around = Surroundings(
            engine,
            chance,
            self.network,
            self.storage,
            self.programs,
            SimClock(engine, skew_s),
            grace_s=20.0,
        )
        self.calls = Calls(engine, chance)
        self.weather = Weather(self)
        self.people = People(self, self.size.jobs)
        self.lent = Lent(self)
        self.checks = Checks(self)

    def _connect(self) -> None:
        """Let everybody hear of what they must."""
        self.store.moment = self.engine.moment
        self.store.heard = self.hearing
        self.network.handle = self._handle
        self.network.published = self._published
        self.storage.changed = self._mandate_changed
        self.storage.listed = self._leave_again
        self.cloud.granted = self._granted
        self.cloud.created = self.checks.created
        self.cloud.removing = self.checks.lent.removing
        self.cloud.deleting = self.checks.deleting
        self.cloud.rung = self._ring
        self.programs.started = self._started
        self.programs.stopped = self.checks.stopped
        self.programs.saved = self.checks.saved

    def _app(self, skew_s: float, forgets: frozenset[str] = frozenset()) -> App:
        return App(
            store=SimStore(self.store, self.calls, self.checks.watch, forgets),
            bus=SimBus(self.network, self.calls),
            blobs=SimBlobs(self.storage, self.calls),
            slices=SimSlices(self.cloud, self.calls),
            clock=SimClock(self.engine, skew_s),
            policy=POLICY,
            catalog=CATALOG,
            installation=INSTALLATION,
            secret=b"a secret",
            project="sandbox",
            bucket="bucket",
            outputs_root="gs://bucket/outputs",
            deadline=Deadline(lambda: self.engine.now),
        )

    # --- A life ---------------------------------------------------------------------------------

    def live(self) -> None:
        """Live through chaos and calm.  Raises Violation."""
        size = self.size
        self.people.begin(size.chaos_s)
        self.weather.begin(size.chaos_s)
        self.lent.begin(size.chaos_s)
        self.engine.at(1.0, self._tick)
        self.engine.run(size.chaos_s)
        self.weather.end()
        self.engine.run(size.chaos_s + size.calm_s)

    def go_on(self, seconds: float) -> None:
        """Let more time pass.  Raises Violation."""
        self.engine.run(self.engine.now + seconds)

    # --- Functions ------------------------------------------------------------------------------

    def _handle(self, delivery: Delivery) -> push.Answer:
        return push.receive(self._app_of(delivery.subscription), delivery, limit_s=LIMIT_S)

    def _app_of(self, who: str) -> App:
        """Return the instance that serves: each has its own clock, some are of an older version."""
        is_old = self.is_deploying and self.chance.hits(Fault.DEPLOYS, 0.5)
        key = f"{who} {is_old}"
        found = self._apps.get(key)
        if found is None:
            is_off = self.chance.has(Fault.CLOCK_SKEW)
            skew_s = self.chance.of("clocks").uniform(-600.0, 600.0) if is_off else 0.0
            if is_off:
                self.chance.happens(Fault.CLOCK_SKEW)
            found = self._app(skew_s, LATE_FIELDS if is_old else frozenset())
            self._apps[key] = found
        return found

    def _tick(self) -> None:
        """Tick, unless nothing can have changed since the last one."""
        self.engine.after(POLICY.tick_s, self._tick)
        if self.network.are_functions_down or self.is_ticking:
            return
        self.hearing.tick_at = self.engine.now
        if self._is_quiet():
            self.ticks_skipped += 1
            return
        self.ticks += 1
        self._quiet = self._counts()
        self.engine.begin(self._run_tick)
        if self.chance.hits(Fault.TICK_TWICE, 0.05):
            self.engine.begin(self._run_tick)

    def _run_tick(self) -> None:
        self.is_ticking = True
        self.engine.after(LIMIT_S, self._end_tick)
        try:
            health_check.run(self._app_of("health_check"), limit_s=LIMIT_S)
        except (Death, ControlPlaneError):
            pass  # the next tick does what this one did not
        except Exception as error:  # noqa: BLE001 - what nobody thought of is what is looked for
            self.found_bug(error)
        self._end_tick()

    def _end_tick(self) -> None:
        self.is_ticking = False

    def found_bug(self, error: BaseException) -> None:
        """Remember an error that nobody thought of."""
        self.bugs.append(error)

    # --- What need not be run -------------------------------------------------------------------

    def _counts(self) -> tuple[int, ...]:
        return (self.commits, self.cloud.changes, self.storage.changes)

    def _is_quiet(self) -> bool:
        """Nothing was written, is under way, or is due: a tick would do nothing."""
        if self._quiet != self._counts() or self.network.in_flight:
            return False
        now = self.engine.time
        for document in self.store.documents("slices"):
            due_at = document.fields["due_at"]
            if isinstance(due_at, datetime) and due_at <= now:
                return False
        return not self.store.collections["outbox"] and not any(orphans(self))

    # --- What follows from what -----------------------------------------------------------------

    def _published(self, _: str, message: Message) -> None:
        self.checks.history.published[message.data.decode()] = self.engine.now

    def _started(self, host: Host, key: Key) -> None:
        self.checks.started(host, key)
        self.people.see_start(key[0])

    @staticmethod
    def _ring(held: Request) -> None:
        for host in held.hosts:
            host.hear_bell()

    def _mandate_changed(self, name: str) -> None:
        self.checks.onward.put(name)
        for host in self.hosts.values():
            if host.state.config.mandate == name:
                host.changed()

    def _leave_again(self, prefix: str) -> None:
        """Who cannot publish tries again, and leaves what is true then."""
        for host in self.hosts.values():
            if host.voice.is_off_the_bus and host.voice.leaves_at.startswith(prefix):
                host.voice.say()

    def _granted(self, held: Request) -> None:
        count = CATALOG.accelerator(held.asked.accelerator_type).hosts
        held.hosts = [Host(held, number, self.around) for number in range(count)]
        for host in held.hosts:
            self.hosts[f"{held.node_uid}-{host.number}"] = host
            self.hearing.listen_to(host)
        self.weather.node_granted(held)
