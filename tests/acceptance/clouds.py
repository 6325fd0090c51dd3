"""Clouds that are short of something, or that lose a part of something."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from shared.errors import Stockout
from shared.ports import BidRequest
from tests.crash.worlds import CheapWorld
from tests.unit.app.world import ZONE


def starve(world: CheapWorld, slice_uid: str, *, is_refused: bool) -> Callable[[], None]:
    """Give one slice nothing; return what ends that.

    Its requests wait for ever, or are refused for want of capacity when they are made.
    """
    create, give = world.slices.create, world.give
    is_over: list[bool] = []

    def is_starved(name: str) -> bool:
        return slice_uid in name and not is_over

    def create_some(request: BidRequest) -> str:
        if is_refused and is_starved(request.name):
            raise Stockout("there is no more capacity", zone=ZONE)
        return create(request)

    world.slices.create = create_some  # type: ignore[method-assign]
    world.give = lambda name: [] if is_starved(name) else give(name)  # type: ignore[method-assign]
    return lambda: is_over.append(True)


def add_nodes(world: CheapWorld, name: str, count: int) -> None:
    """Let a request have more nodes than one, as a multislice has."""

    def more(number: int) -> None:
        shown = world.slices._held[name].shown
        first = shown.nodes[0]
        node = replace(first, name=f"{first.name}-{number}", uid=f"{first.uid}-{number}")
        world.slices._show(name, lambda old: replace(old, nodes=(*old.nodes, node)))

    for number in range(1, count + 1):
        more(number)


def take_one_node(world: CheapWorld, name: str) -> None:
    """Preempt the last node of a request; the request itself says nothing of it."""
    *kept, last = world.slices._held[name].shown.nodes
    gone = replace(last, state="PREEMPTED")
    world.slices._show(name, lambda old: replace(old, nodes=(*kept, gone)))
