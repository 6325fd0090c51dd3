"""What Cloud TPU offers, as data: accelerator types, where they are, runtimes and prices.

A catalog is made from the mapping of ``shared/data/accelerators.json``; it never reads a file
and never asks Google. A zone listed here promises neither capacity nor access.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TypedDict, cast

from shared.errors import SpecError

NEAR_NAMES_MAX = 3
# Of the zones that have a type so many are told, those of the same continent first.
ZONES_TOLD_MAX = 5
_SIZED = re.compile(r"([a-z0-9]+)-(\d+)")


class Tier(StrEnum):
    """On which terms capacity is asked for."""

    SPOT = "spot"
    ON_DEMAND = "on-demand"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One accelerator type: what a slice of it consists of."""

    accelerator_type: str
    generation: str
    chips: int
    hosts: int

    @property
    def is_pod(self) -> bool:
        """Tell whether it spans several hosts."""
        return self.hosts > 1


@dataclass(frozen=True, slots=True)
class Generation:
    """One TPU generation: where it is offered and what its hosts run."""

    name: str
    runtime_version: str
    zones: tuple[str, ...]
    has_spot: bool
    host_memory_gib: int | None


@dataclass(frozen=True, slots=True)
class Price:
    """USD per chip-hour in one zone; None where the price is not known."""

    on_demand_usd: float | None
    spot_usd: float | None


@dataclass(frozen=True, slots=True)
class Catalog:
    """All that is offered, as of a date."""

    as_of: str
    accelerators: Mapping[str, Accelerator]
    generations: Mapping[str, Generation]
    prices: Mapping[tuple[str, str, str], Price]
    aliases: Mapping[str, str]

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Catalog:
        """Make a catalog from the parsed data file."""
        file = cast("_File", data)
        return cls(
            as_of=file["as_of"],
            accelerators={row["accelerator_type"]: Accelerator(**row) for row in file["shapes"]},
            generations={name: _generation(name, row) for name, row in file["generations"].items()},
            prices={
                (row["generation"], row["shape"], row["zone"]): _price(row)
                for row in file["prices"]
            },
            aliases=dict(_alias(pair) for pair in file["aliases"].items()),
        )

    @property
    def zones(self) -> frozenset[str]:
        """Every zone in which anything is offered."""
        return frozenset(zone for row in self.generations.values() for zone in row.zones)

    @property
    def runtime_versions(self) -> frozenset[str]:
        """Every runtime version that is the default of some generation."""
        return frozenset(row.runtime_version for row in self.generations.values())

    def accelerator(self, name: str) -> Accelerator:
        """Look an accelerator type up by its name or an alias (``v5e-16``)."""
        found = self.accelerators.get(self._canonical(name))
        if found is None:
            raise SpecError("accelerator_type", _unknown(name, self._names_like(name)))
        return found

    def generation(self, accelerator_type: str) -> Generation:
        """Return the generation that an accelerator type belongs to."""
        return self.generations[self.accelerator(accelerator_type).generation]

    def runtime_version(self, accelerator_type: str) -> str:
        """Return the runtime version that suits an accelerator type."""
        return self.generation(accelerator_type).runtime_version

    def check(
        self, accelerator_type: str, zone: str | None = None, runtime_version: str | None = None
    ) -> Accelerator:
        """Refuse what is not offered, naming what is; return what it means otherwise."""
        accelerator = self.accelerator(accelerator_type)
        if zone is not None:
            self._check_zone(accelerator, zone)
        if runtime_version is not None and runtime_version not in self.runtime_versions:
            near = near_names(runtime_version, self.runtime_versions)
            default = self.runtime_version(accelerator_type)
            hint = near or (default,)
            raise SpecError("runtime_version", _unknown(runtime_version, hint))
        return accelerator

    def usd_per_chip_hour(self, accelerator_type: str, zone: str, tier: Tier) -> float | None:
        """Return what a chip costs an hour, or None where that is not known.

        A reservation is billed like on-demand capacity, whether it is used or not.
        """
        accelerator = self.accelerator(accelerator_type)
        for shape in ("pod" if accelerator.is_pod else "single-host", "any"):
            price = self.prices.get((accelerator.generation, shape, zone))
            if price is not None:
                return price.spot_usd if tier is Tier.SPOT else price.on_demand_usd
        return None

    def _check_zone(self, accelerator: Accelerator, zone: str) -> None:
        generation = self.generations[accelerator.generation]
        if zone in generation.zones:
            return
        if zone not in self.zones:
            raise SpecError("zone", _unknown(zone, near_names(zone, self.zones)))
        continent = zone.partition("-")[0]
        zones = sorted(generation.zones, key=lambda each: each.partition("-")[0] != continent)
        more = len(zones) - ZONES_TOLD_MAX
        where = ", ".join(zones[:ZONES_TOLD_MAX]) + (f" and {more} more" if more > 0 else "")
        raise SpecError(
            "zone", f"{accelerator.accelerator_type} is not in {zone}; it is in {where}"
        )

    def _canonical(self, name: str) -> str:
        sized = _SIZED.fullmatch(name)
        if name in self.accelerators or sized is None:
            return name
        return f"{self.aliases.get(sized[1], sized[1])}-{sized[2]}"

    def _names_like(self, name: str) -> Sequence[str]:
        """Return near types: sizes of the same family first, then whatever is spelled alike."""
        canonical = self._canonical(name)
        family, _, size = canonical.rpartition("-")
        sizes = [row for row in self.accelerators if row.rpartition("-")[0] == family]
        if sizes and size.isdecimal():
            return sorted(sizes, key=lambda row: abs(_size(row) - int(size)))[:NEAR_NAMES_MAX]
        return near_names(canonical, self.accelerators)


def near_names(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the known names that are spelled most like this one, best first."""
    return tuple(get_close_matches(name.lower(), sorted(known), n=NEAR_NAMES_MAX))


def _unknown(name: str, near: Sequence[str]) -> str:
    hint = f"; near: {', '.join(near)}" if near else ""
    return f"{name!r} is not known{hint}"


def _size(accelerator_type: str) -> int:
    return int(accelerator_type.rpartition("-")[2])


# --- The data file ------------------------------------------------------------------------------


class _Shape(TypedDict):
    accelerator_type: str
    generation: str
    chips: int
    hosts: int


class _Generation(TypedDict):
    runtime_version: str
    zones: list[str]
    spot: bool
    host_memory_gib: int | None


class _Price(TypedDict):
    generation: str
    shape: str
    zone: str
    on_demand_usd_per_chip_hour: float | None
    spot_usd_per_chip_hour: float | None


class _File(TypedDict):
    as_of: str
    generations: dict[str, _Generation]
    shapes: list[_Shape]
    prices: list[_Price]
    aliases: dict[str, str]


def _generation(name: str, row: _Generation) -> Generation:
    return Generation(
        name=name,
        runtime_version=row["runtime_version"],
        zones=tuple(row["zones"]),
        has_spot=row["spot"],
        host_memory_gib=row["host_memory_gib"],
    )


def _price(row: _Price) -> Price:
    return Price(row["on_demand_usd_per_chip_hour"], row["spot_usd_per_chip_hour"])


def _alias(pair: tuple[str, str]) -> tuple[str, str]:
    """Turn ``v5e-N: v5litepod-N`` into the two prefixes."""
    alias, name = pair
    return alias.removesuffix("-N"), name.removesuffix("-N")
