"""What there is to keep of a cloud, and how a cloud becomes what it was."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sandbox.nodes import NodeUpdate
from sandbox.resources import Host, Node, Operation, Power, QueuedResource
from sandbox.settings import Settings
from sandbox.timers import Timer
from sandbox.weather import Played

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox.cloud import Cloud

KINDS: Mapping[str, type] = {
    "hosts": Host,
    "nodes": Node,
    "operations": Operation,
    "pending": QueuedResource,
    "queued": QueuedResource,
    "timers": Timer,
    "updates": NodeUpdate,
}


def tables_of(cloud: Cloud) -> Mapping[str, Mapping[str, object]]:
    """Return the records of a cloud by kind and name."""
    ledger = cloud.ledger
    return {
        "hosts": ledger.hosts,
        "nodes": ledger.nodes,
        "operations": ledger.operations,
        "pending": ledger.pending,
        "queued": ledger.queued,
        "timers": ledger.timers.by_number(),
        "updates": cloud.pool.updates,
    }


def plain_of(cloud: Cloud) -> Mapping[str, object]:
    """Return what is no record, in values that nobody changes."""
    weather = cloud.weather
    return {
        "addresses": cloud.pool.addresses,
        "asked": weather.asked,
        "born": dict(weather.born),
        "played": asdict(weather.played) if weather.played else None,
        "requests": [[*key, name] for key, name in cloud.ledger.operation_of_request.items()],
        "in_line": list(cloud.queue.in_line),
        "seed": weather.seed,
        "settings": cloud.settings.dumped(),
    }


def restore(cloud: Cloud, tables: Mapping[str, dict[str, Any]], plain: Mapping[str, Any]) -> None:
    """Make a new cloud what another one was; all of its hosts that ran boot again."""
    if not plain:
        return
    ledger, weather = cloud.ledger, cloud.weather
    ledger.hosts.update(tables["hosts"])
    ledger.nodes.update(tables["nodes"])
    ledger.operations.update(tables["operations"])
    ledger.pending.update(tables["pending"])
    ledger.queued.update(tables["queued"])
    ledger.timers.restore(tables["timers"].values())
    cloud.pool.updates.update(tables["updates"])
    ledger.operation_of_request.update(
        {(verb, target, request): name for verb, target, request, name in plain["requests"]}
    )
    cloud.pool.addresses = plain["addresses"]
    cloud.queue.in_line = plain["in_line"]
    weather.asked, weather.seed = plain["asked"], plain["seed"]
    weather.born = Counter(plain["born"])
    weather.played = Played(**plain["played"]) if plain["played"] else None
    cloud.settings = Settings.parse(plain["settings"])
    for name in [host.name for host in ledger.hosts.values() if host.power is Power.ON]:
        cloud.reboot_host(name)
