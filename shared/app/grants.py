"""Grants as the use cases need them: read, added, removed, and asked before anything costs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from shared.app.context import App
from shared.app.order_args import GrantAdd, GrantOrder, GrantRemove
from shared.app.stored import LIVE_SLICES
from shared.core import placing
from shared.core.catalog import Catalog
from shared.core.codec import from_fields, to_fields
from shared.core.grant_form import GrantForm, make_grant
from shared.core.grants import Grant, Terms, ahead_of, need_of, use_of
from shared.core.ordering import Refused
from shared.core.situation import Situation
from shared.core.slices import Bid, Slice
from shared.core.spec import JobSpec
from shared.ports import Create, Delete, Query, Store, Write

GRANTS_MAX = 100


def grant_path(name: str) -> str:
    """Name the document of a grant."""
    return f"grants/{name}"


def read_terms(store: Store, catalog: Catalog, now: datetime, *, region: str = "") -> Terms:
    """Read all grants and, if there are any, who uses them.  Raises Unavailable."""
    documents = store.query(Query("grants", limit=GRANTS_MAX))
    if not documents:
        return Terms(now, catalog, region=region)
    grants = tuple(from_fields(Grant, document.fields) for document in documents)
    # One that cannot be read refuses all: what it uses is not known.
    live = store.query(LIVE_SLICES)
    uses = (use_of(from_fields(Slice, document.fields), catalog) for document in live)
    return Terms(now, catalog, grants, tuple(use for use in uses if use is not None), region)


def place(app: App, wanted: Slice, spec: JobSpec) -> tuple[Slice, str]:
    """Say where a new slice may be asked for, and what to tell of it.

    Raises Refused with the price.
    """
    terms = _terms(app, wanted, wanted.created_at)
    need = need_of(app.catalog, wanted.accelerator_type, wanted.tier)
    decide = placing.hold if spec.zones else placing.choose
    placed = decide(terms, need, wanted.zones, i_pay=spec.i_pay)
    return replace(wanted, zones=placed.zones), placed.told


def check(app: App, taken: Slice, spec: JobSpec, now: datetime) -> str:
    """Hold a slice that is there against what may be used, and say what to tell of it.

    Raises Refused with the price.
    """
    current = taken.current
    bid = current.claimed_bid if current else None
    if current is not None and current.foreign_bid is not None:
        return ""  # whoever made it pays for it
    terms = _terms(app, taken, now)
    need = need_of(app.catalog, taken.accelerator_type, taken.tier)
    if bid is not None:
        return placing.hold(terms, need, (bid.zone,), i_pay=spec.i_pay).told
    placed = placing.choose(terms, need, taken.zones, i_pay=spec.i_pay)
    return placed.told if spec.i_pay else ""


def admit(app: App, now: Situation, bid: Bid) -> None:
    """Ask once more before a create, since grants end and others use them.

    Raises Stockout, QuotaExceeded, NoAccess (``placing.admit``).
    """
    if now.slice.i_pay or (now.job_spec is not None and now.job_spec.i_pay):
        return
    need = need_of(app.catalog, bid.accelerator_type, bid.tier)
    placing.admit(_terms(app, now.slice, now.now), need, bid.zone, now.slice.zones)


def change(app: App, order: GrantOrder) -> Write:
    """Add or remove a grant; who may is asked before.  Raises Refused and SpecError."""
    return _add(app, order) if isinstance(order, GrantAdd) else _remove(app, order)


def _add(app: App, order: GrantAdd) -> Write:
    args = order.args
    form = GrantForm(
        args.name, args.zones, args.types, args.tiers, args.chips, args.until, args.note
    )
    grant = make_grant(form, app.catalog, order.owner, app.clock.now())
    if app.store.get(grant_path(grant.id)) is not None:
        raise Refused(f"there is a grant {grant.id} already; remove it first, or take another name")
    if len(app.store.query(Query("grants", limit=GRANTS_MAX))) >= GRANTS_MAX:
        raise Refused(f"there are {GRANTS_MAX} grants already; remove those that have ended")
    return Create(grant_path(grant.id), to_fields(grant))


def _remove(app: App, order: GrantRemove) -> Write:
    document = app.store.get(grant_path(order.args.name))
    if document is None:
        raise Refused(f"there is no grant {order.args.name}")
    return Delete(document.path, document.token)


def _terms(app: App, slice_: Slice, now: datetime) -> Terms:
    """Read what may be used, as far as others have not taken it before this slice."""
    terms = read_terms(app.store, app.catalog, now, region=app.region)
    return Terms(now, app.catalog, terms.grants, ahead_of(slice_, terms.uses), terms.region)
