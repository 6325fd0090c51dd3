"""What other people make, and TPUs of theirs that owners of jobs adopt for a while.

Whoever made one may delete it whenever they like, and make another of the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final

from shared.core.cloud import BidRequest
from shared.core.codec import from_fields
from shared.core.mandates import Place, agent_config
from shared.core.names import parse_cloud_name
from shared.core.slices import Slice
from tests.simulation.chance import Fault
from tests.simulation.requested import Request

if TYPE_CHECKING:
    from tests.simulation.world import World

MINUTE_S: Final = 60.0
HOUR_S: Final = 3600.0
# How often an owner looks whether the slice is there, so that the installer can be run.
LOOK_S: Final = 90.0
# After that it is run again where nothing came of it.
AGAIN_S: Final = 20 * MINUTE_S
_PLACE: Final = Place("sandbox", "bucket", "reports")


class Lent:
    """All TPUs of other people, what these do with them, and what owners of jobs do."""

    def __init__(self, world: World) -> None:
        self._world = world

    def begin(self, chaos_s: float) -> None:
        """Plan everything, from a stream of its own for each."""
        self._stand_around()
        for number in range(self._world.size.jobs):
            chance = self._world.chance.of(f"lent {number}")
            at, is_drawn = chance.uniform(MINUTE_S, chaos_s / 2), chance.random() < 1 / 2
            if Fault.ADOPTIONS in self._world.chance.faults and is_drawn:
                self._world.engine.at(at, partial(self._lend, f"lent-{number:03d}", chance))

    def _stand_around(self) -> None:
        """Requests stand in the same project, with names that are like ours."""
        cloud = self._world.cloud
        zones = list(cloud.capacity)
        for number, name in enumerate(("tpuctl-zzzzzz-uid00001-g1-b0", "tpuctl-mine", "theirs")):
            asked = _asked(name, zones[number % len(zones)], "v5p-8")
            cloud.requests[name] = Request(asked, "", "ACTIVE", node_state="READY")

    def _lend(self, node: str, chance: Random) -> None:
        """Make a TPU, let it be adopted and used, and perhaps take it away again."""
        world, after = self._world, self._world.engine.after
        world.chance.happens(Fault.ADOPTIONS)
        kinds = ["v5p-8", "v5p-16"]
        asked = _asked(node, chance.choice(list(world.cloud.capacity)), chance.choice(kinds))
        is_disposable = chance.random() < 1 / 2
        world.cloud.lend(asked)
        self._adopt(asked, chance, is_disposable=is_disposable)
        after(chance.uniform(2 * MINUTE_S, HOUR_S / 2), lambda: world.people.try_out(node, chance))
        for hours in (0.5, 2.5):
            after(hours * HOUR_S, lambda: world.people.order("release", {"slice": node}))
        after(chance.uniform(0.0, HOUR_S), lambda: self._err(asked, chance))
        if chance.random() < 1 / 3:
            after(chance.uniform(0.0, HOUR_S), lambda: self._replace(asked, chance))

    def _adopt(self, asked: BidRequest, chance: Random, *, is_disposable: bool) -> None:
        args = {"slice": asked.name, "slice_uid": self._world.people.new_uid()}
        order = {**args, "node": asked.name, "zone": asked.zone, "disposable": is_disposable}
        self._world.people.order("slice-adopt", order)
        wait_s = chance.uniform(0.0, 20 * MINUTE_S)
        self._world.engine.after(wait_s, lambda: self._install(asked.name))

    def _install(self, node: str) -> None:
        """Run the installer on its hosts as soon as there is something to install."""
        held = self._world.cloud.requests.get(node)
        document = self._world.store.get(f"slices/{node}")
        if held is None or held.hosts:
            return
        config = None if document is None else _config(document.fields, held, self._world)
        if config is not None and held.node_state == "READY":
            held.asked = replace(held.asked, metadata={"tpuctl-config": config})
            self._world.cloud.granted(held)
            self._world.engine.after(AGAIN_S, lambda: self._install_again(held))
        else:
            self._world.engine.after(LOOK_S, lambda: self._install(node))

    def _install_again(self, held: Request) -> None:
        silent = [host for host in held.hosts if host.acts and not host.has_spoken]
        for host in silent:
            host.begin()
        if silent:
            self._world.engine.after(AGAIN_S, lambda: self._install_again(held))

    def _err(self, asked: BidRequest, chance: Random) -> None:
        """Order what is refused: to adopt it under another name too, or what is ours."""
        ours = sorted(filter(parse_cloud_name, self._world.cloud.requests))
        node = chance.choice([asked.name, *ours])
        args = {"slice": f"twin-{asked.name}", "slice_uid": self._world.people.new_uid()}
        zone = self._world.cloud.requests[node].asked.zone if node in ours else asked.zone
        order = {**args, "node": node, "zone": zone, "disposable": True}
        self._world.people.order("slice-adopt", order)

    def _replace(self, asked: BidRequest, chance: Random) -> None:
        """Delete it, and make another; its new life may be adopted like the first."""
        self._world.cloud.end(asked.name)
        if chance.random() < 1 / 2:
            self._world.cloud.lend(asked)
            if chance.random() < 1 / 2:
                self._adopt(asked, chance, is_disposable=False)


def _asked(node: str, zone: str, accelerator_type: str) -> BidRequest:
    return BidRequest(
        name=node,
        zone=zone,
        accelerator_type=accelerator_type,
        runtime_version="tpu-ubuntu2204-base",
        tier="spot",
        labels={},
        metadata={},
        request_id="",
    )


def _config(fields: Mapping[str, Any], held: Request, world: World) -> str | None:
    """Write what the installer brings, if this very TPU is adopted."""
    slice_ = from_fields(Slice, fields)
    current = slice_.current
    bid = current.foreign_bid if current else None
    if current is None or bid is None or bid.node_uid != held.node_uid:
        return None
    return agent_config(slice_, current, bid, _PLACE, world.app.policy)
