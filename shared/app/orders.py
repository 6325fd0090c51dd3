"""launch, woken by users: admit jobs, stop, resume and rerun them, release slices.

The outcome stands in ``commands/{id}``, in the same commit as the effect; so the same order
given twice is carried out once, and the client sees what became of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from shared.app import grants, slice_orders, upkeep
from shared.app.commit import LAUNCH
from shared.app.context import App
from shared.app.identify import (
    Submitter,
    bounds_of,
    check_holder,
    next_number,
    signed,
    unproved,
)
from shared.app.load import Loaded, job_path, load, load_job, parsed
from shared.app.order_args import (
    Order,
    RunAgain,
    SliceOrder,
    Stop,
    Submit,
    UpkeepOrder,
    parse_order,
)
from shared.app.outcomes import accepted, refused
from shared.app.plans import Plan, free_name, loaded_slice, new_slice, placed
from shared.app.retry import taken_up
from shared.app.settle import settle, settle_once
from shared.core import ordering
from shared.core.identity import Bounds
from shared.core.model import Attempt, Job
from shared.core.names import slice_name
from shared.core.ordering import Again, Refused
from shared.core.orders import OrderKind
from shared.core.slices import Slice
from shared.core.spec import JobSpec, parse_spec, resolve
from shared.errors import Conflict, SpecError
from shared.log import get
from shared.ports import Delivery

_TRIES_MAX = 10
_log = get("launch")


def receive(app: App, delivery: Delivery) -> None:
    """Carry out a user's order, or refuse it with a reason."""
    order = parse_order(delivery.message.data)
    age_s = (app.clock.now() - delivery.published_at).total_seconds()
    is_expired = delivery.attempt == 1 and age_s > app.policy.command_s
    for _ in range(_TRIES_MAX):
        if app.store.get(f"commands/{order.id}") is not None:
            return
        try:
            if is_expired:
                name = _refuse(app, order, unproved(app, order), _TOO_LATE)
            else:
                name = _carry_out(app, order, delivery.published_at)
        except Conflict:
            continue
        if name:
            settle(app, name, who=LAUNCH)
        return
    raise Conflict(f"order {order.id}: too many others are at work")


_TOO_LATE = "it came more than ten minutes late: ask again"


def _carry_out(app: App, order: Order, published_at: datetime) -> str:
    """Commit an order with its outcome; return the slice that it is about."""
    who = unproved(app, order)
    try:
        order, who = signed(app, order, published_at)
        order, marks = taken_up(app, order, who)
        if isinstance(order, UpkeepOrder):
            upkeep.carry_out(app, order, who, beside=marks)
            return ""
        plan = _plan(app, order, who)
    except (Refused, SpecError) as refusal:
        return _refuse(app, order, who, str(refusal))
    beside = (*plan.writes, *marks, accepted(app, order, who, plan.changed.job))
    settle_once(app, plan.loaded, who=LAUNCH, change=lambda _: plan.changed, beside=beside)
    return plan.changed.slice.name


def _refuse(app: App, order: Order, who: Submitter, reason: str) -> str:
    _log.info("refused %s: %s", order.kind, reason)
    app.store.commit([refused(app, order, who, reason)])
    return ""


def _plan(app: App, order: SliceOrder, who: Submitter) -> Plan:
    """Say what an order changes.  Raises Refused."""
    match order:
        case Submit():
            return _submit(app, order, who)
        case Stop():
            return _stop(app, order, who)
        case RunAgain():
            return _again(app, order, who)
        case _:
            return slice_orders.plan(app, order, who)


# --- Plans --------------------------------------------------------------------------------------


def _submit(app: App, order: Submit, who: Submitter) -> Plan:
    args, bounds = order.args, bounds_of(app, who.member)
    spec = resolve(parse_spec(args.spec), app.catalog)
    number, counted = next_number(app, who)
    if app.store.get(job_path(args.job)) is not None:
        raise Refused(f"there is a job with the id {args.job} already")
    if args.on is not None:
        loaded = loaded_slice(app, args.on)
        slice_ = ordering.take_slice(loaded.situation.slice, spec, args.job, bounds)
        told = grants.check(app, slice_, spec, loaded.situation.now)
    else:
        name = args.slice or slice_name(spec.name, str(number))
        wanted = new_slice(app, (name, args.slice_uid, who.owner), spec, bounds)
        wanted, told = grants.place(app, wanted, spec)
        loaded = free_name(app, wanted, is_chosen=args.slice is not None)
        slice_ = replace(wanted, name=loaded.situation.slice.name, job=args.job)
    now = loaded.situation
    job = ordering.new_job(args.job, number, who.owner, spec, slice_, now.now)
    job = replace(job, owner_email=who.person.email, owner_subject=who.person.subject)
    changed = replace(now, slice=slice_, job=job, job_spec=spec, attempts=())
    text = f"job {number} {spec.name} by {who.owner}, on {slice_.name}"
    return Plan(loaded, placed(changed.note("JobSubmitted", text), told), (counted,))


def _stop(app: App, order: Stop, who: Submitter) -> Plan:
    job, attempts, tokens = _known_job(app, order.args.job)
    check_holder(app, who, job.owner, f"job {job.number}")
    loaded = _with_job(loaded_slice(app, job.slice), job, attempts, tokens)
    return Plan(loaded, ordering.stop(loaded.situation, kill=order.args.kill, by=_by(who, job)))


def _again(app: App, order: RunAgain, who: Submitter) -> Plan:
    args = order.args
    job, attempts, tokens = _known_job(app, args.job)
    check_holder(app, who, job.owner, f"job {job.number}")
    new_spec = resolve(parse_spec(args.spec), app.catalog) if args.spec is not None else None
    wish = Again(
        args.seen_attempt,
        new_spec,
        args.from_step,
        args.presume_dead,
        order.kind is OrderKind.RERUN,
        _by(who, job),
    )
    ordering.check_again(job, wish)
    spec = new_spec or parsed(job)
    loaded, slice_, told = _place(app, order, job, spec)
    job = ordering.move(job, slice_, spec, wish)
    before = _with_job(loaded, job, attempts, tokens)
    now = replace(before.situation, slice=slice_)
    return Plan(before, placed(ordering.again(now, wish), told))


def _by(who: Submitter, job: Job) -> str:
    """Say in the timeline who did something to a job."""
    return "its owner" if who.owner == job.owner else who.member


# --- Reading ------------------------------------------------------------------------------------


def _place(app: App, order: RunAgain, job: Job, spec: JobSpec) -> tuple[Loaded, Slice, str]:
    """Choose the slice for a job that goes on, the named one, its own, or a new one; say why."""
    args, bounds = order.args, bounds_of(app, job.owner_email or job.owner)
    old = load(app, job.slice) if args.on is None else loaded_slice(app, args.on)
    is_own = old is not None and old.situation.slice.uid == job.slice_uid
    if old is not None and (args.on or (is_own and _fits(old.situation.slice, spec, job, bounds))):
        taken = ordering.take_slice(old.situation.slice, spec, job.id, bounds)
        return old, taken, grants.check(app, taken, spec, old.situation.now)
    name = slice_name(job.name, str(job.number))
    wanted = new_slice(app, (name, args.slice_uid, job.owner), spec, bounds)
    wanted, told = grants.place(app, wanted, spec)
    loaded = free_name(app, wanted, is_chosen=False)
    return loaded, replace(wanted, name=loaded.situation.slice.name, job=job.id), told


def _fits(slice_: Slice, spec: JobSpec, job: Job, bounds: Bounds) -> bool:
    try:
        ordering.take_slice(slice_, spec, job.id, bounds)
    except Refused:
        return False
    return True


def _known_job(app: App, job_id: str) -> tuple[Job, tuple[Attempt, ...], Mapping[str, str]]:
    tokens: dict[str, str] = {}
    job, attempts = load_job(app, job_id, tokens)
    if job is None:
        raise Refused(f"there is no job {job_id}")
    return job, attempts, tokens


def _with_job(
    loaded: Loaded, job: Job, attempts: tuple[Attempt, ...], tokens: Mapping[str, str]
) -> Loaded:
    """Put a job beside a slice that may not know it (yet, or any more)."""
    now = replace(loaded.situation, job=job, attempts=attempts, job_spec=parsed(job))
    return Loaded(now, {**loaded.tokens, **tokens})
