"""What Google's audit log says in a world."""

from __future__ import annotations

from collections.abc import Mapping

from tests.audit_entries import PREEMPTED, as_message, vm_entry
from tests.unit.app.world import World

Entry = Mapping[str, object]


def says(world: World, *entries: Entry) -> None:
    """Let the log say something, and everybody act on it."""
    world.bus.publish("audit", [as_message(entry) for entry in entries])
    world.drain()


def says_to_report(world: World, *entries: Entry) -> None:
    """Let the log say something, and only ``report`` act on it."""
    world.bus.publish("audit", [as_message(entry) for entry in entries])
    for delivery in world.bus.pull("report-audit", limit=50):
        world.deliver(delivery)


def of_host(world: World, method: str = PREEMPTED, index: int = 0, **payload: object) -> Entry:
    """Write what is logged of a host that serves the job."""
    name = world.hosts[index].hostname
    return vm_entry(method, name, world.clock.now(), payload=payload)
