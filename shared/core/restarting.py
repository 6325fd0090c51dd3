"""Restarts that an owner orders: every host of a slice reboots, and its job goes on.

The hosts do it themselves: their mandate names the boots that shall end, so that a host reboots
once, however often it reads that (docs/protocol.md §5).
"""

from __future__ import annotations

from dataclasses import replace

from shared.core.causes import Cause
from shared.core.model import Ending
from shared.core.situation import Situation
from shared.core.slices import Generation
from shared.core.stages import Stage


def begin_restart(now: Situation, generation: Generation, why: str) -> Situation:
    """End the boots of all hosts that speak, and before them what runs there."""
    hosts = now.hosts_of(generation, generation.claimed)
    boots = {str(host.host): host.boot for host in hosts}
    now = now.with_generation(replace(generation, restart=boots, restart_at=now.now))
    now = now.note("SliceRestarting", f"{now.slice.name}: {why}")
    if now.stands_at(Stage.PREPARING):
        return now.with_job(prepare_since=now.now, prepared_at=None)
    if not now.runs or now.served.ending is not None:
        return now
    ending = Ending(now.served.attempt, now.now, why, cause=Cause.REBOOTED, is_ordered=True)
    return now.with_job(ending=ending)


def see_restarts(now: Situation) -> Situation:
    """A restart is over when no boot of before speaks any more, or when it takes too long."""
    for generation in now.slice.generations:
        if generation.restart_at is None:
            continue
        left = _unchanged(now, generation)
        is_late = now.since(generation.restart_at) >= now.policy.boot_s
        if left and not (is_late or generation.is_condemned):
            continue
        now = now.with_generation(replace(generation, restart={}, restart_at=None))
        now = _tell(now, generation, left)
    return now


def _unchanged(now: Situation, generation: Generation) -> list[int]:
    """Hosts whose newest word is of the boot that shall end."""
    hosts = now.hosts_of(generation, generation.claimed)
    return [host.host for host in hosts if generation.restart.get(str(host.host)) == host.boot]


def _tell(now: Situation, generation: Generation, left: list[int]) -> Situation:
    if generation.is_condemned:
        return now
    if not left:
        return now.note("SliceRestarted", f"all hosts of {now.slice.name} have rebooted")
    names = ", ".join(map(str, left))
    return now.note("RestartFailed", f"host {names} of {now.slice.name} did not reboot")
