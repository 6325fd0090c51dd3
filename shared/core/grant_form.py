"""A grant as somebody writes it down, checked against the catalog and the calendar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from shared.core.catalog import Catalog, Tier, near_names
from shared.core.grants import Grant
from shared.core.spec_errors import shown
from shared.errors import SpecError

# More than any pod has; a number beyond it is a typing error.
CHIPS_MAX = 100_000
NOTE_CHARS_MAX = 500
YEARS_MAX = 50
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class GrantForm:
    """What stands in ``tpuctl grant add``; ``until`` is the last day, in UTC."""

    name: str
    zones: tuple[str, ...]
    types: tuple[str, ...]
    tiers: tuple[str, ...]
    chips: int
    until: str
    note: str = ""


def make_grant(form: GrantForm, catalog: Catalog, added_by: str, now: datetime) -> Grant:
    """Make a grant of what was written down.  Raises SpecError for the first wrong field."""
    if _NAME.fullmatch(form.name) is None:
        raise SpecError(
            "name",
            "expected at most 40 lower-case letters, digits and hyphens that begin with a letter"
            f" and do not end with a hyphen, found {shown(form.name)}",
        )
    if not 1 <= form.chips <= CHIPS_MAX:
        raise SpecError("chips", f"expected 1 to {CHIPS_MAX:,}, found {form.chips}")
    if len(form.note) > NOTE_CHARS_MAX or not form.note.isprintable():
        raise SpecError("note", f"expected one line of at most {NOTE_CHARS_MAX} characters")
    grant = Grant(
        id=form.name,
        zones=_known("zone", form.zones, sorted(catalog.zones)),
        accelerators=_each("type", [_accelerator(name, catalog) for name in form.types]),
        tiers=_known("tier", form.tiers, list(Tier)),
        chips=form.chips,
        ends_at=_end(form.until, now),
        added_by=added_by,
        created_at=now,
        note=form.note,
    )
    note = f" ({form.note})" if form.note else ""
    return replace(grant, summary=grant.terms + note)


def offers(grant: Grant, catalog: Catalog) -> bool:
    """Tell whether the catalog knows anything that the grant gives in any of its zones."""
    generations = (
        catalog.generations.get(name) or catalog.generation(name) for name in grant.accelerators
    )
    return any(not set(grant.zones).isdisjoint(each.zones) for each in generations)


def _known(field: str, names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name not in known:
            _unknown(field, name, near_names(name, known) or known)
    return _each(field, names)


def _each(field: str, names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        raise SpecError(field, "is missing")
    return tuple(dict.fromkeys(names))


def _accelerator(name: str, catalog: Catalog) -> str:
    """Take a generation (``v4``) or a type (``v4-16``) under any of its names."""
    family = catalog.aliases.get(name, name)
    for accelerator in catalog.accelerators.values():
        if accelerator.accelerator_type.rpartition("-")[0] == family:
            return accelerator.generation
    if "-" not in name:
        _unknown("type", name, near_names(name, catalog.generations) or [*catalog.generations])
    try:
        return catalog.accelerator(name).accelerator_type
    except SpecError as error:
        raise SpecError("type", error.reason) from None


def _unknown(field: str, name: str, near: Sequence[str]) -> None:
    few = near if len(near) <= 10 else [*near[:10], "…"]  # noqa: PLR2004 - one line
    raise SpecError(field, f"{shown(name)} is not known; near: {', '.join(few)}")


def _end(until: str, now: datetime) -> datetime:
    """Return the midnight, in UTC, after the last day."""
    try:
        last = date.fromisoformat(until) if _DAY.fullmatch(until) else None
    except ValueError:
        last = None
    if last is None:
        raise SpecError("until", f"expected a day such as 2027-01-31, found {shown(until)}")
    today = now.astimezone(UTC).date()
    if last < today:
        raise SpecError("until", f"{last} is over, today is {today} in UTC")
    if last.year > today.year + YEARS_MAX:
        raise SpecError("until", f"{last} is more than {YEARS_MAX} years ahead")
    return datetime.combine(last + timedelta(days=1), time(tzinfo=UTC))
