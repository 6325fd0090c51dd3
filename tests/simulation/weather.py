"""What the world does to an installation: lifetimes, storms, outages; then calm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Final

from shared.app.pause import PAUSE
from tests.simulation.chance import Fault

if TYPE_CHECKING:
    from tests.simulation.hosts import Host
    from tests.simulation.requested import Request
    from tests.simulation.world import World

MINUTE_S = 60.0
HOUR_S = 3600.0
# Minutes from READY to the preemption of single spot instances, as an eye sees them in public
# traces: many go within minutes, most within hours, some stay for a day.
RECORDED_MIN: Final = (2, 4, 7, 11, 16, 24, 35, 48, 66, 90, 125, 170, 240, 350, 600, 1400)


def poisson(chance: Random) -> float:
    """Forget how old it is: seconds, two hours on average."""
    return chance.expovariate(1 / (2 * HOUR_S))


def bathtub(chance: Random) -> float:
    """Go in the first minutes, or after hours, in seconds."""
    if chance.random() < 1 / 4:
        return chance.uniform(30.0, 10 * MINUTE_S)
    return chance.uniform(HOUR_S, 8 * HOUR_S)


def recorded(chance: Random) -> float:
    """Go when a recorded one went, in seconds."""
    return chance.choice(RECORDED_MIN) * MINUTE_S * chance.uniform(0.8, 1.2)


LIFETIMES: Final[Mapping[str, Callable[[Random], float]]] = {
    "poisson": poisson,
    "bathtub": bathtub,
    "recorded": recorded,
}


class Weather:
    """Plans what will go wrong, and ends it."""

    def __init__(self, world: World) -> None:
        self._world, self._chance = world, world.chance
        drawn = self._chance.of("lifetimes").choice(sorted(LIFETIMES))
        self._lifetime = LIFETIMES[drawn]
        self._has_ended = False

    def begin(self, chaos_s: float) -> None:
        """Plan outages and storms."""
        plans: tuple[tuple[Fault, float, Callable[[bool], None]], ...] = (
            (Fault.BUS_OUTAGE, 20 * MINUTE_S, self._bus_outage),
            (Fault.CONTROL_PLANE_DOWN, HOUR_S, self._control_plane_down),
            (Fault.STORAGE_DOWN, HOUR_S, self._storage_down),
            (Fault.STOCKOUTS, HOUR_S, self._stockout),
            (Fault.QUOTA_CUT, HOUR_S, self._quota_cut),
            (Fault.DEPLOYS, 30 * MINUTE_S, self._deploy),
            (Fault.STORMS, 0.0, self._storm),
            (Fault.PAUSES, HOUR_S / 2, self._pause),
        )
        if self._world.size.storm_at_s is not None:
            self._world.engine.at(self._world.size.storm_at_s, self._storm_everywhere)
        for fault, lasts_s, act in plans:
            at = self._chance.of(f"when {fault}").uniform(300.0, chaos_s - lasts_s)
            if fault in self._chance.faults:
                self._plan(fault, at, lasts_s, act)

    def _plan(self, fault: Fault, at: float, lasts_s: float, act: Callable[[bool], None]) -> None:
        def start() -> None:
            self._chance.happens(fault)
            act(True)

        self._world.engine.at(at, start)
        if lasts_s:
            self._world.engine.at(at + lasts_s, lambda: act(False))

    def end(self) -> None:
        """Let nothing more go wrong, and everything that can come back come back."""
        self._chance.is_on = False
        self._has_ended = True
        for host in self._world.hosts.values():
            host.voice.set_mute(is_mute=False)
            host.voice.set_off_the_bus(is_off=False)
            if host.is_cut_off:
                host.cut_off(is_cut=False)
        self._world.cloud.finish_everything()
        # A pause that was ordered in the chaos may be carried out late.
        for hours in (0.0, 0.5, 1.0):
            self._world.engine.after(hours * HOUR_S, self._unpause)

    # --- Nodes and hosts ------------------------------------------------------------------------

    def node_granted(self, held: Request) -> None:
        """Boot the hosts of a node, and draw its fate."""
        chance = self._chance.of("boots")
        for host in held.hosts:
            if not self._chance.hits(Fault.NEVER_BOOTS, 0.04):
                self._world.engine.after(chance.uniform(20.0, 90.0), host.begin)
            self._draw_fate(host)
        self._draw_node(held)

    def _draw_node(self, held: Request) -> None:
        world, cloud = self._world, self._world.cloud
        lifetime_s = self._lifetime(self._chance.of("lifetimes"))
        if Fault.PREEMPTIONS in self._chance.faults:
            self._later(lifetime_s, lambda: self._preempt(held), Fault.PREEMPTIONS)
        draws: tuple[tuple[Fault, float, Callable[[], None]], ...] = (
            (Fault.BY_HAND, 0.1, lambda: cloud.end(held.asked.name)),
            (Fault.FLAPPING, 0.2, lambda: cloud.flap(held)),
            (Fault.GLITCHES, 0.2, lambda: cloud.hide(held)),
            (Fault.MAINTENANCE, 0.1, lambda: cloud.stop_node(held, "TERMINATED")),
            (Fault.MAINTENANCE, 0.1, lambda: cloud.stop_node(held, "STOPPED")),
        )
        for fault, probability, act in draws:
            if self._chance.hits(fault, probability):
                at = self._chance.of(f"when {fault}").uniform(0.0, 2 * HOUR_S)
                world.engine.after(at, self._in_chaos(act))

    def _preempt(self, held: Request) -> None:
        """Take a node away, with a notice half a minute before or without."""
        if held.state != "ACTIVE":
            return
        if self._chance.hits(Fault.NOTICES, 0.6):
            for host in held.hosts:
                host.notice()
            self._world.engine.after(30.0, lambda: self._world.cloud.preempt(held))
        else:
            self._world.cloud.preempt(held)

    def _draw_fate(self, host: Host) -> None:
        draws: tuple[tuple[Fault, float, Callable[[], None]], ...] = (
            (Fault.SILENT_HOSTS, 0.1, host.die),
            (Fault.MUTE_HOSTS, 0.25, lambda: host.voice.set_mute(is_mute=True)),
            (Fault.CUT_OFF_HOSTS, 0.3, lambda: self._cut_off(host)),
            (Fault.REBOOTS, 0.15, host.reboot),
            (Fault.AGENT_DEATHS, 0.2, host.restart_agent),
            (Fault.OFF_THE_BUS, 0.25, lambda: host.voice.set_off_the_bus(is_off=True)),
        )
        for fault, probability, act in draws:
            if self._chance.hits(fault, probability):
                at = self._chance.of(f"when {fault}").uniform(0.0, 1.5 * HOUR_S)
                self._world.engine.after(at, self._in_chaos(act))

    def _cut_off(self, host: Host) -> None:
        """Take storage away; an owner who sees no progress may lose patience."""
        host.cut_off(is_cut=True)
        if host.runs is not None:
            self._world.people.lose_patience(host.runs[0])

    def _later(self, seconds: float, act: Callable[[], None], fault: Fault) -> None:
        def happen() -> None:
            if self._chance.is_on:
                self._chance.happens(fault)
                act()

        self._world.engine.after(seconds, happen)

    def _in_chaos(self, act: Callable[[], None]) -> Callable[[], None]:
        return lambda: None if self._has_ended else act()

    # --- Outages --------------------------------------------------------------------------------

    def _bus_outage(self, begins: bool) -> None:  # noqa: FBT001
        self._world.network.is_down = begins
        self._world.hearing.set_down(is_down=begins)

    def _control_plane_down(self, begins: bool) -> None:  # noqa: FBT001
        self._world.network.are_functions_down = begins

    def _storage_down(self, begins: bool) -> None:  # noqa: FBT001
        self._world.storage.is_down = begins
        self._world.storage.up_since = self._world.engine.now
        for host in self._world.hosts.values():
            if begins:
                host.watch_outage()
            else:
                host.look()

    def _stockout(self, begins: bool) -> None:  # noqa: FBT001
        dry = self._chance.of("dry").choice(sorted(self._world.cloud.capacity))
        self._world.cloud.dry = {dry} if begins else set()

    def _quota_cut(self, begins: bool) -> None:  # noqa: FBT001
        zone = min(self._world.cloud.capacity)
        self._world.cloud.quota[zone] = 0 if begins else 10_000

    def _deploy(self, begins: bool) -> None:  # noqa: FBT001
        self._world.is_deploying = begins

    def _pause(self, begins: bool) -> None:  # noqa: FBT001
        if begins:
            self._world.people.order("pause", {"reason": "the budget is checked"})
        else:
            self._unpause()

    def _unpause(self) -> None:
        if self._world.store.get(PAUSE) is not None:
            self._world.people.order("unpause", {})

    def _storm_everywhere(self) -> None:
        for held in list(self._world.cloud.requests.values()):
            if held.hosts:
                self._chance.happens(Fault.STORMS)
                self._world.cloud.preempt(held)

    def _storm(self, _: bool) -> None:  # noqa: FBT001
        zone = self._chance.of("storms").choice(sorted(self._world.cloud.capacity))
        for held in list(self._world.cloud.requests.values()):
            if held.asked.zone == zone:
                self._world.cloud.preempt(held)
