"""Grants: what a project may use without paying, and what the rest would cost.

A project that keeps no grant pays for all it uses and is asked nothing. Once one is kept, also
one that has ended, whatever lies outside of all of them is refused unless its owner pays; so is
whatever is away from the data's region. Nothing here ends what runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from shared.core.catalog import Catalog, Tier
from shared.core.slices import BidStage, Slice

# USD: Google's price list for reading Cloud Storage from another of its locations
# (cloud.google.com/storage/pricing): within a continent is cheapest, South America dearest.
EGRESS = "$0.02 to 0.14 per GiB"


class Standing(StrEnum):
    """Whether a need in a zone costs nothing."""

    FREE = "free"
    FULL = "full"  # a grant covers it, and others use what it gives
    OUTSIDE = "outside"  # no grant covers it, or it is away from the data


@dataclass(frozen=True, slots=True)
class Need:
    """What one slice asks for, wherever it will be.  ``accelerator`` is the generation."""

    accelerator_type: str
    accelerator: str
    tier: str
    chips: int


@dataclass(frozen=True, slots=True)
class Grant:
    """The document ``grants/{id}``: some chips that may be used at once until some time.

    ``accelerators`` holds generations (``v4``) and types (``v4-16``).
    """

    id: str
    zones: tuple[str, ...]
    accelerators: tuple[str, ...]
    tiers: tuple[str, ...]
    chips: int
    ends_at: datetime
    added_by: str
    created_at: datetime
    note: str = ""
    summary: str = ""

    @property
    def last_day(self) -> str:
        """The last day, in UTC, on which it counts."""
        return f"{self.ends_at - timedelta(microseconds=1):%Y-%m-%d}"

    @property
    def terms(self) -> str:
        """What it gives, in words."""
        return (
            f"{self.chips} chips of {_or(self.accelerators)}, {_or(self.tiers)},"
            f" in {_or(self.zones)} until {self.last_day}"
        )

    def matches(self, need: Need, zone: str) -> tuple[bool, bool, bool]:
        """Tell which of accelerator, tier and zone it covers, the most telling one first."""
        is_named = not {need.accelerator, need.accelerator_type}.isdisjoint(self.accelerators)
        return is_named, need.tier in self.tiers, zone in self.zones

    def covers(self, need: Need, zone: str) -> bool:
        """Tell whether such chips there are among what it gives."""
        return all(self.matches(need, zone))


@dataclass(frozen=True, slots=True)
class Use:
    """What a live slice uses, or is about to.  ``is_held``: the cloud was asked for it."""

    slice: str
    need: Need
    zone: str
    is_held: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class Terms:
    """What may be used at a time: all grants, who uses them, and the region of the data.

    An empty region is that of a cloud in which no distance costs anything.
    """

    now: datetime
    catalog: Catalog
    grants: tuple[Grant, ...] = ()
    uses: tuple[Use, ...] = ()
    region: str = ""

    @property
    def bind(self) -> bool:
        """There is anything to check at all."""
        return bool(self.grants or self.region)

    @property
    def open_grants(self) -> tuple[Grant, ...]:
        """Those that have not ended; the one that ends first is used first."""
        left = (grant for grant in self.grants if self.now < grant.ends_at)
        return tuple(sorted(left, key=lambda grant: (grant.ends_at, grant.id)))


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a need in a zone stands, and why in words unless it is free.

    ``hint`` says what would be free.
    """

    zone: str
    standing: Standing
    why: str = ""
    hint: str = ""
    usd_per_hour: float = field(default=float("inf"), compare=False)


def need_of(catalog: Catalog, accelerator_type: str, tier: str) -> Need:
    """Say what a slice of a type is.  Raises SpecError for an unknown type."""
    accelerator = catalog.accelerator(accelerator_type)
    return Need(accelerator.accelerator_type, accelerator.generation, tier, accelerator.chips)


def use_of(slice_: Slice, catalog: Catalog) -> Use | None:
    """Say what a slice uses; None for one that is on its way out."""
    if not (slice_.live and slice_.wanted):
        return None
    current = slice_.current
    bids = [bid for bid in current.bids if not bid.is_condemned] if current else []
    zone = bids[-1].zone if bids else slice_.zones[slice_.zone_turn % len(slice_.zones)]
    is_held = any(bid.stage is not BidStage.INTENDED for bid in bids)
    need = need_of(catalog, slice_.accelerator_type, slice_.tier)
    return Use(slice_.name, need, zone, is_held, slice_.created_at)


def ahead_of(slice_: Slice, uses: Sequence[Use]) -> tuple[Use, ...]:
    """Keep the uses that come before a slice's own: what is held, and what was asked earlier.

    Of two slices that wait for the same last chips, exactly one sees the other.
    """
    mine = (slice_.created_at, slice_.name)
    return tuple(
        use
        for use in uses
        if use.slice != slice_.name and (use.is_held or (use.since, use.slice) < mine)
    )


def users_of(terms: Terms) -> Mapping[str, tuple[Use, ...]]:
    """Say who uses which open grant: first come, first served, from the first that has room.

    What fits nowhere is paid for, and uses no grant.
    """
    users: dict[str, list[Use]] = {grant.id: [] for grant in terms.open_grants}
    for use in sorted(terms.uses, key=lambda use: (not use.is_held, use.since, use.slice)):
        for grant in terms.open_grants:
            room = grant.chips - chips_of(users[grant.id])
            if grant.covers(use.need, use.zone) and use.need.chips <= room:
                users[grant.id].append(use)
                break
    return {name: tuple(found) for name, found in users.items()}


def chips_of(uses: Sequence[Use]) -> int:
    """Count chips."""
    return sum(use.need.chips for use in uses)


def judge(terms: Terms, need: Need, zone: str) -> Judgement:
    """Say whether a need in a zone is free, and otherwise what it costs."""
    far, granted = _distance(terms, zone), _grant_for(terms, need, zone)
    whys = [judged.why for judged in (granted, far) if judged.why]
    standing = far.standing if far.why else granted.standing
    usd = terms.catalog.usd_per_chip_hour(need.accelerator_type, zone, Tier(need.tier))
    per_hour = float("inf") if usd is None else usd * need.chips
    return Judgement(zone, standing, "; ".join(whys), granted.hint, per_hour)


def price(catalog: Catalog, need: Need, zone: str) -> str:
    """Say what a slice costs an hour in a zone, in USD, and how that was reckoned.

    The sentence goes on from the name of the slice's type.
    """
    usd = catalog.usd_per_chip_hour(need.accelerator_type, zone, Tier(need.tier))
    if usd is None:
        return "has no known price"
    per_hour = f"{usd * need.chips:,.2f}"
    return f"costs ${per_hour} an hour ({need.chips} chips at ${usd:g}, as of {catalog.as_of})"


def _distance(terms: Terms, zone: str) -> Judgement:
    if not terms.region or zone.rpartition("-")[0] == terms.region:
        return Judgement(zone, Standing.FREE)
    why = f"the data is in {terms.region}: reading it from {zone} costs {EGRESS}"
    return Judgement(zone, Standing.OUTSIDE, why)


def _grant_for(terms: Terms, need: Need, zone: str) -> Judgement:
    if not terms.grants:
        return Judgement(zone, Standing.FREE)
    covering = [grant for grant in terms.open_grants if grant.covers(need, zone)]
    if not covering:
        what = f"{need.accelerator_type} {need.tier} in {zone}"
        cost = price(terms.catalog, need, zone)
        why = f"no grant covers {what}, which {cost}"
        return Judgement(zone, Standing.OUTSIDE, why, _nearest(terms, need, zone))
    users = users_of(terms)
    rooms = {grant: grant.chips - chips_of(users[grant.id]) for grant in covering}
    widest = max(covering, key=lambda grant: rooms[grant])
    if rooms[widest] >= need.chips:
        return Judgement(zone, Standing.FREE)
    return Judgement(zone, Standing.FULL, _full(terms, need, zone, widest))


def _full(terms: Terms, need: Need, zone: str, grant: Grant) -> str:
    """Say who uses up a grant."""
    users = users_of(terms)[grant.id]
    left = grant.chips - chips_of(users)
    by = f" ({', '.join(f'{use.slice} uses {use.need.chips}' for use in users)})" if users else ""
    what = f"{need.accelerator_type} needs {need.chips} and {price(terms.catalog, need, zone)}"
    return f"grant {grant.id} has {left} of {grant.chips} chips left{by}, {what}"


def _nearest(terms: Terms, need: Need, zone: str) -> str:
    """Say what would be inside, or which grant it was that has ended."""
    ended = [grant for grant in terms.grants if grant not in terms.open_grants]
    once = [grant for grant in ended if grant.covers(need, zone)]
    if once or not terms.open_grants:
        newest = max(once or ended, key=lambda grant: grant.ends_at)
        return f"grant {newest.id} ended with {newest.last_day}"
    nearest = max(terms.open_grants, key=lambda grant: _likeness(grant.matches(need, zone)))
    return f"nearest: grant {nearest.id}, {nearest.terms}"


def _likeness(matches: tuple[bool, bool, bool]) -> tuple[int, tuple[bool, bool, bool]]:
    return sum(matches), matches


def _or(names: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
