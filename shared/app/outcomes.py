"""The document that says what became of an order."""

from __future__ import annotations

from shared.app.context import App
from shared.app.identify import Submitter
from shared.app.order_args import (
    GrantAdd,
    GrantRemove,
    Order,
    ParkedRetry,
    Release,
    RunAgain,
    SliceAdopt,
    SliceChange,
    SliceCreate,
    Stop,
    Submit,
    Sweep,
)
from shared.core.console import readable
from shared.core.model import Job
from shared.core.orders import Outcome, Verdict
from shared.ports import Create


def accepted(app: App, order: Order, who: Submitter, job: Job | None = None) -> Create:
    """Write that an order was carried out."""
    return _outcome(app, order, who, Verdict.ACCEPTED, "", job)


def refused(app: App, order: Order, who: Submitter, reason: str) -> Create:
    """Write that an order was not carried out, and why."""
    return _outcome(app, order, who, Verdict.REFUSED, reason, None)


def _outcome(
    app: App, order: Order, who: Submitter, verdict: Verdict, reason: str, job: Job | None
) -> Create:
    outcome = Outcome(
        id=order.id,
        kind=order.kind,
        owner=who.owner,
        outcome=verdict,
        reason=reason,
        job=job.id if job else _job(order),
        number=job.number if job else 0,
        created_at=app.clock.now(),
        owner_email=who.person.email,
        owner_subject=who.person.subject,
        about=_about(order),
    )
    return Create(f"commands/{order.id}", readable(outcome))


def _job(order: Order) -> str:
    """Name the job that an order is about; one that it would have made is none."""
    return order.args.job if isinstance(order, Stop | RunAgain) else ""


def _about(order: Order) -> str:
    """Name what else an order is about."""
    match order:
        case Release() | SliceCreate() | SliceChange() | SliceAdopt():
            return order.args.slice
        case Submit():
            return order.args.on or order.args.slice or ""
        case GrantAdd() | GrantRemove():
            return order.args.name
        case Sweep():
            return ", ".join(order.args.zones)
        case ParkedRetry():
            return order.args.key
        case _:
            return ""
