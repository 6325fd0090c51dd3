"""Whether there is capacity: what fits into a zone, and what it says when it is sold out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox.errors import ApiError, no_reserved_capacity, stockout
from sandbox.resources import NodeState, zone_of
from shared.core.catalog import Tier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox.ledger import Ledger
    from sandbox.resources import NodeSpec

# Nodes in these states use no hardware.
_WITHOUT_HARDWARE = frozenset({NodeState.PREEMPTED, NodeState.STOPPED})


def has_room(ledger: Ledger, zone: str, specs: Sequence[NodeSpec]) -> bool:
    """Tell whether all of these nodes fit into a zone now."""
    if _orders(ledger, zone, specs):
        return False
    for accelerator_type in {spec.accelerator_type for spec in specs}:
        limit = ledger.settings.capacity.get(f"{zone}/{accelerator_type}")
        wanted = sum(spec.accelerator_type == accelerator_type for spec in specs)
        if limit is not None and _in_use(ledger, zone, accelerator_type) + wanted > limit:
            return False
    return True


def is_refused(ledger: Ledger, zone: str, specs: Sequence[NodeSpec]) -> bool:
    """Tell whether a request that does not fit fails; else it waits."""
    return "fail" in (_orders(ledger, zone, specs) or {ledger.settings.stockout})


def sold_out(zone: str, tier: Tier) -> ApiError:
    """Say that there is no capacity, or none in the reservation."""
    return no_reserved_capacity() if tier is Tier.RESERVED else stockout(zone)


def _orders(ledger: Ledger, zone: str, specs: Sequence[NodeSpec]) -> set[str]:
    """Return how the ordered stockouts that hit a request treat it."""
    ordered = ledger.settings.sold_out
    shops = {zone, *(f"{zone}/{spec.accelerator_type}" for spec in specs)}
    return {ordered[shop] for shop in shops & ordered.keys()}


def _in_use(ledger: Ledger, zone: str, accelerator_type: str) -> int:
    return sum(
        node.state not in _WITHOUT_HARDWARE
        and zone_of(node.name) == zone
        and node.spec.accelerator_type == accelerator_type
        for node in ledger.nodes.values()
    )
