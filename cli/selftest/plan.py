"""What a self test is going to ask for, and what that may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cli.selftest.rig import Pace
from cli.selftest.run import Bound
from shared.core.catalog import Accelerator, Catalog, Tier
from shared.errors import SpecError

_CENTS_FROM_USD: Final = 0.01
_SHOWN_FROM_USD: Final = 0.0001


@dataclass(frozen=True, slots=True)
class Plan:
    """One spot request.  Its bound is for the chips alone, its delete included."""

    zone: str
    accelerator: Accelerator
    runtime_version: str
    bound: Bound
    pace: Pace


def make_plan(catalog: Catalog, zone: str, accelerator_type: str, pace: Pace) -> Plan:
    """Choose a type, the cheapest where none is named.  Raises SpecError."""
    name = accelerator_type or _cheapest(catalog, zone)
    accelerator = catalog.check(name, zone)
    if accelerator.is_pod:
        raise SpecError("--type", f"{name} has {accelerator.hosts} hosts; one is enough, and cheap")
    if not catalog.generation(name).has_spot:
        raise SpecError("--type", f"{name} is not offered as spot")
    per_chip = catalog.usd_per_chip_hour(name, zone, Tier.SPOT)
    per_hour = None if per_chip is None else per_chip * accelerator.chips
    return Plan(
        zone,
        accelerator,
        catalog.runtime_version(name),
        Bound(per_hour, pace.total_s + pace.gone_s),
        pace,
    )


def usd_text(usd: float | None) -> str:
    """Write an amount of dollars; small ones to a tenth of a cent."""
    if usd is None:
        return "price not known"
    if 0 < usd < _SHOWN_FROM_USD:
        return f"<${_SHOWN_FROM_USD:.4f}"
    return f"${usd:.2f}" if usd == 0 or usd >= _CENTS_FROM_USD else f"${usd:.4f}"


def _cheapest(catalog: Catalog, zone: str) -> str:
    """Name the cheapest spot type of one host in a zone."""
    if zone not in catalog.zones:
        # Any type: the zone is what is wrong, and its near names are told.
        catalog.check(next(iter(catalog.accelerators)), zone)
    offers = [
        (price * each.chips, each.accelerator_type)
        for each in catalog.accelerators.values()
        if not each.is_pod and zone in catalog.generation(each.accelerator_type).zones
        if (price := catalog.usd_per_chip_hour(each.accelerator_type, zone, Tier.SPOT))
    ]
    if not offers:
        raise SpecError("--zone", f"no spot price of one host is known in {zone}: name a --type")
    return min(offers)[1]
