"""The document that says what became of an order."""

from __future__ import annotations

from shared.app.context import App
from shared.app.identify import Submitter
from shared.app.order_args import Order
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
        job=job.id if job else "",
        number=job.number if job else 0,
        created_at=app.clock.now(),
        owner_email=who.person.email,
        owner_subject=who.person.subject,
    )
    return Create(f"commands/{order.id}", readable(outcome))
