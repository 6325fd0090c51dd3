"""Hand a delivery to its use case, and turn what becomes of it into an answer to the bus.

The one place that decides between done, again, and never; and the only one that catches errors
nobody thought of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shared.app import alert, launch, orders, park, recovery, report
from shared.app.context import App
from shared.errors import Permanent, Retryable
from shared.log import get
from shared.ports import Delivery

_log = get("push")

RECEIVERS: Mapping[str, Callable[[App, Delivery], None]] = {
    "launch-commands": orders.receive,
    "launch": launch.receive,
    "recovery": recovery.receive,
    "report": report.receive,
    "alert": alert.receive,
    "park": park.receive,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the bus is told: done, or again (after some seconds, or by its own backoff)."""

    retry: bool = False
    retry_after_s: float | None = None


DONE = Answer()


def receive(app: App, delivery: Delivery) -> Answer:
    """Handle one delivery; never raises."""
    try:
        RECEIVERS[delivery.subscription](app, delivery)
    except Retryable as error:
        _log.info("%s again: %s", delivery.subscription, error)
        return Answer(retry=True, retry_after_s=error.after_s)
    except Permanent as error:
        return _put_aside(app, delivery, error)
    except Exception:  # noqa: BLE001 - a bug costs a retry, not the function
        _log.exception("%s failed on %s", delivery.subscription, delivery.id)
        return Answer(retry=True)
    return DONE


def _put_aside(app: App, delivery: Delivery, error: Permanent) -> Answer:
    try:
        park.record(app, delivery, delivery.subscription, str(error))
    except Retryable as trouble:
        return Answer(retry=True, retry_after_s=trouble.after_s)
    return DONE
