"""launch, woken by users: create, recreate, restart, adopt and release slices."""

from __future__ import annotations

from dataclasses import replace

from shared.app import grants
from shared.app.context import App
from shared.app.identify import Submitter, bounds_of, check_holder
from shared.app.order_args import OwnSliceOrder, Release, SliceAdopt, SliceChange, SliceCreate
from shared.app.plans import Plan, free_name, loaded_slice, new_slice, placed
from shared.app.stored import live_slices
from shared.core import ordering, slice_orders
from shared.core.cloud import CloudNode
from shared.core.ordering import Refused
from shared.core.orders import OrderKind
from shared.core.slice_orders import Adoption
from shared.core.slices import Bid, Kind, Slice
from shared.core.spec import JobSpec, parse_spec, resolve
from shared.errors import Permanent


def plan(app: App, order: OwnSliceOrder, who: Submitter) -> Plan:
    """Say what an order about a slice changes.  Raises Refused and SpecError."""
    match order:
        case SliceCreate():
            return _create(app, order, who)
        case SliceAdopt():
            return _adopt(app, order, who)
        case Release():
            return _release(app, order, who)
        case SliceChange():
            return _change(app, order, who)


def _create(app: App, order: SliceCreate, who: Submitter) -> Plan:
    args, shape = order.args, _shape(app, order)
    bounds = bounds_of(app, who.member)
    wanted = new_slice(app, (args.slice, args.slice_uid, who.owner), shape, bounds)
    wanted = replace(wanted, kind=Kind.NAMED, keep=args.keep, i_pay=args.i_pay)
    wanted, told = grants.place(app, wanted, shape)
    loaded = free_name(app, wanted, is_chosen=True)
    kept = ", kept" if args.keep else ""
    text = f"{wanted.name}: {wanted.accelerator_type}{kept}, by {who.owner}"
    changed = loaded.situation.note("SliceOrdered", text)
    return Plan(loaded, placed(changed, told))


def _shape(app: App, order: SliceCreate) -> JobSpec:
    """Check what is asked for as that of a job is checked: one way only.  Raises SpecError."""
    args = order.args
    written = {
        "name": args.slice,
        "command": ["true"],
        "accelerator_type": args.accelerator_type,
        "zones": list(args.zones),
        "tier": args.tier,
        "runtime_version": args.runtime_version,
        "i_pay": args.i_pay,
    }
    return resolve(parse_spec(written), app.catalog)


def _adopt(app: App, order: SliceAdopt, who: Submitter) -> Plan:
    args = order.args
    node = _node(app, args.zone, args.node)
    for other in live_slices(app.store):
        if any(bid.foreign and bid.name == node.name for bid in _bids_in(other, node.zone)):
            raise Refused(f"TPU {node.name} in {node.zone} is slice {other.name} already")
    wish = Adoption(
        args.slice, args.slice_uid, who.owner, args.disposable, bounds_of(app, who.member)
    )
    wanted = slice_orders.adopted(node, wish, app.catalog, app.clock.now())
    loaded = free_name(app, wanted, is_chosen=True)
    text = f"{wanted.name}: {node.name} in {node.zone}, by {who.owner}"
    return Plan(loaded, loaded.situation.note("SliceAdopted", text))


def _bids_in(slice_: Slice, zone: str) -> list[Bid]:
    bids = (bid for generation in slice_.generations for bid in generation.bids)
    return [bid for bid in bids if bid.zone == zone]


def _node(app: App, zone: str, name: str) -> CloudNode:
    if zone not in app.catalog.zones:
        raise Refused(f"no zone with TPUs is called {zone}")
    try:
        found = app.slices.find(zone, name)
    except Permanent as error:
        raise Refused(f"TPU {name} in {zone} cannot be looked at: {error}") from None
    if found is None:
        raise Refused(f"there is no TPU {name} in {zone}")
    return found.nodes[0]


def _release(app: App, order: Release, who: Submitter) -> Plan:
    loaded = loaded_slice(app, order.args.slice)
    now = loaded.situation
    check_holder(app, who, now.slice.owner, f"slice {now.slice.name}")
    return Plan(loaded, replace(now, slice=ordering.release(now)))


def _change(app: App, order: SliceChange, who: Submitter) -> Plan:
    loaded = loaded_slice(app, order.args.slice)
    now = loaded.situation
    check_holder(app, who, now.slice.owner, f"slice {now.slice.name}")
    by = "its owner" if who.owner == now.slice.owner else who.member
    is_again = order.kind is OrderKind.SLICE_RECREATE
    change = slice_orders.recreate if is_again else slice_orders.restart
    return Plan(loaded, change(now, by=by))
