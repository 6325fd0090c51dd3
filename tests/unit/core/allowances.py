"""Grants, uses and terms, as tests need them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shared.catalog_data import load_catalog
from shared.core import grants
from shared.core.grants import Grant, Need, Terms, Use

CATALOG = load_catalog()
NOW = datetime(2030, 1, 1, tzinfo=UTC)
ZONE, OTHER_ZONE = "us-central2-b", "us-central1-a"
V4 = grants.need_of(CATALOG, "v4-16", "spot")
V5E = grants.need_of(CATALOG, "v5e-16", "spot")


def grant_of(name: str = "trc", **changes: object) -> Grant:
    """Make a grant of 16 chips of v4 for a month."""
    grant = Grant(
        id=name,
        zones=(ZONE,),
        accelerators=("v4",),
        tiers=("spot",),
        chips=16,
        ends_at=NOW + timedelta(days=30),
        added_by="ada",
        created_at=NOW,
    )
    return replace(grant, **changes)  # type: ignore[arg-type]


def use_of(name: str, need: Need = V4, *, age_s: float = 0.0, is_held: bool = True) -> Use:
    """Make the use of a slice."""
    return Use(name, need, ZONE, is_held, NOW - timedelta(seconds=age_s))


def terms_of(*kept: Grant, uses: tuple[Use, ...] = (), region: str = "") -> Terms:
    """Say what may be used."""
    return Terms(NOW, CATALOG, kept, uses, region)
