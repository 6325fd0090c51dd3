"""launch, woken by users: admit jobs, stop, resume and rerun them, release slices.

The outcome stands in ``commands/{id}``, in the same commit as the effect; so the same order
given twice is carried out once, and the client sees what became of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shared.app.commit import LAUNCH
from shared.app.context import App
from shared.app.load import Loaded, job_path, load, load_job, parsed, slice_path, world
from shared.app.order_args import Order, Release, RunAgain, Stop, Submit, parse_order
from shared.app.settle import settle, settle_once
from shared.core import ordering
from shared.core.codec import from_fields, to_fields
from shared.core.model import Attempt, Job
from shared.core.names import slice_name
from shared.core.ordering import Again, Refused
from shared.core.orders import OrderKind, Outcome, Verdict
from shared.core.situation import Situation
from shared.core.slices import Slice
from shared.core.spec import JobSpec, parse_spec, resolve
from shared.errors import Conflict, SpecError
from shared.log import get
from shared.ports import Create, Delivery, Fields, Replace, Write

_TRIES_MAX = 10
_log = get("launch")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What an accepted order makes of a situation, and what it was read from."""

    loaded: Loaded
    changed: Situation
    writes: tuple[Write, ...] = ()


def receive(app: App, delivery: Delivery) -> None:
    """Carry out a user's order, or refuse it with a reason."""
    order = parse_order(delivery.message.data)
    age_s = (app.clock.now() - delivery.published_at).total_seconds()
    is_expired = delivery.attempt == 1 and age_s > app.policy.command_s
    for _ in range(_TRIES_MAX):
        if app.store.get(f"commands/{order.id}") is not None:
            return
        try:
            name = _refuse(app, order, _TOO_LATE) if is_expired else _carry_out(app, order)
        except Conflict:
            continue
        if name:
            settle(app, name, who=LAUNCH)
        return
    raise Conflict(f"order {order.id}: too many others are at work")


_TOO_LATE = "it came more than ten minutes late: ask again"


def _carry_out(app: App, order: Order) -> str:
    """Commit an order with its outcome; return the slice that it is about."""
    try:
        plan = _plan(app, order)
    except (Refused, SpecError) as refusal:
        return _refuse(app, order, str(refusal))
    job = plan.changed.job
    told = _outcome(app, order, Verdict.ACCEPTED, "", job)
    beside = (*plan.writes, told)
    settle_once(app, plan.loaded, who=LAUNCH, change=lambda _: plan.changed, beside=beside)
    return plan.changed.slice.name


def _refuse(app: App, order: Order, reason: str) -> str:
    _log.info("refused %s: %s", order.kind, reason)
    app.store.commit([_outcome(app, order, Verdict.REFUSED, reason, None)])
    return ""


def _outcome(app: App, order: Order, verdict: Verdict, reason: str, job: Job | None) -> Create:
    outcome = Outcome(
        id=order.id,
        kind=order.kind,
        owner=order.owner,
        outcome=verdict,
        reason=reason,
        job=job.id if job else "",
        number=job.number if job else 0,
        created_at=app.clock.now(),
    )
    return Create(f"commands/{order.id}", to_fields(outcome))


def _plan(app: App, order: Order) -> _Plan:
    """Say what an order changes.  Raises Refused."""
    match order:
        case Submit():
            return _submit(app, order)
        case Stop():
            return _stop(app, order)
        case RunAgain():
            return _again(app, order)
        case Release():
            return _release(app, order)


# --- Plans --------------------------------------------------------------------------------------


def _submit(app: App, order: Submit) -> _Plan:
    args = order.args
    spec = resolve(parse_spec(args.spec), app.catalog)
    number, counted = _next_number(app, order.owner)
    if app.store.get(job_path(args.job)) is not None:
        raise Refused(f"there is a job with the id {args.job} already")
    if args.on is not None:
        loaded = _loaded_slice(app, args.on)
        slice_ = ordering.take_slice(loaded.situation.slice, spec, args.job)
    else:
        name = args.slice or slice_name(spec.name, str(number))
        wanted = ordering.new_slice(
            name, args.slice_uid, order.owner, spec, world(app), app.clock.now()
        )
        loaded = _free_name(app, wanted, is_chosen=args.slice is not None)
        slice_ = replace(wanted, name=loaded.situation.slice.name, job=args.job)
    now = loaded.situation
    job = ordering.new_job(args.job, number, order.owner, spec, slice_, now.now)
    changed = replace(now, slice=slice_, job=job, job_spec=spec, attempts=())
    text = f"job {number} {spec.name} by {order.owner}, on {slice_.name}"
    return _Plan(loaded, changed.note("JobSubmitted", text), (counted,))


def _stop(app: App, order: Stop) -> _Plan:
    job, attempts, tokens = _known_job(app, order.args.job)
    loaded = _with_job(_loaded_slice(app, job.slice), job, attempts, tokens)
    return _Plan(loaded, ordering.stop(loaded.situation, kill=order.args.kill))


def _again(app: App, order: RunAgain) -> _Plan:
    args = order.args
    job, attempts, tokens = _known_job(app, args.job)
    new_spec = resolve(parse_spec(args.spec), app.catalog) if args.spec is not None else None
    wish = Again(
        args.seen_attempt,
        new_spec,
        args.from_step,
        args.presume_dead,
        order.kind is OrderKind.RERUN,
    )
    ordering.check_again(job, wish)
    spec = new_spec or parsed(job)
    loaded, slice_ = _place(app, order, job, spec)
    job = replace(
        job, slice=slice_.name, slice_uid=slice_.uid, accelerator_type=slice_.accelerator_type
    )
    before = _with_job(loaded, job, attempts, tokens)
    now = replace(before.situation, slice=slice_)
    return _Plan(before, ordering.again(now, wish))


def _release(app: App, order: Release) -> _Plan:
    loaded = _loaded_slice(app, order.args.slice)
    now = loaded.situation
    return _Plan(loaded, replace(now, slice=ordering.release(now.slice)))


# --- Reading ------------------------------------------------------------------------------------


def _place(app: App, order: RunAgain, job: Job, spec: JobSpec) -> tuple[Loaded, Slice]:
    """Choose the slice for a job that goes on: the named one, its own, or a new one."""
    args = order.args
    if args.on is not None:
        loaded = _loaded_slice(app, args.on)
        return loaded, ordering.take_slice(loaded.situation.slice, spec, job.id)
    old = load(app, job.slice)
    is_there = old is not None and old.situation.slice.uid == job.slice_uid
    if old is not None and is_there and _fits(old.situation.slice, spec, job):
        return old, ordering.take_slice(old.situation.slice, spec, job.id)
    name = slice_name(job.name, str(job.number))
    wanted = ordering.new_slice(name, args.slice_uid, job.owner, spec, world(app), app.clock.now())
    loaded = _free_name(app, wanted, is_chosen=False)
    return loaded, replace(wanted, name=loaded.situation.slice.name, job=job.id)


def _fits(slice_: Slice, spec: JobSpec, job: Job) -> bool:
    try:
        ordering.take_slice(slice_, spec, job.id)
    except Refused:
        return False
    return True


def _loaded_slice(app: App, name: str) -> Loaded:
    loaded = load(app, name)
    if loaded is None:
        raise Refused(f"there is no slice {name}")
    return loaded


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


def _free_name(app: App, wanted: Slice, *, is_chosen: bool) -> Loaded:
    """Find a name for a new slice: one that nothing in the cloud stands for any more.

    Raises Refused when a user chose a name that is taken.
    """
    document = app.store.get(slice_path(wanted.name))
    if document is not None and document.fields["live"]:
        if is_chosen:
            raise Refused(f"the name {wanted.name} is taken by another slice")
        longer = replace(wanted, name=slice_name(wanted.name, wanted.uid))
        return _free_name(app, longer, is_chosen=True)
    old = from_fields(Slice, document.fields) if document else None
    tokens = {document.path: document.token} if document else {}
    # Revisions go on, so that the ids of events do not repeat.
    slice_ = replace(wanted, revision=old.revision if old else 0)
    now = document.read_at if document else app.clock.now()
    return Loaded(Situation(slice_, None, (), (), now, world(app)), tokens)


def _next_number(app: App, owner: str) -> tuple[int, Write]:
    """Count an owner's jobs, in the same commit."""
    path = f"owners/{owner}"
    document = app.store.get(path)
    if document is None:
        return 1, Create(path, {"owner": owner, "number": 1})
    newest = document.fields["number"]
    assert isinstance(newest, int), "an owner's document counts jobs"
    fields: Fields = {"owner": owner, "number": newest + 1}
    return newest + 1, Replace(path, fields, document.token)
