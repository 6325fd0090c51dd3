"""Hand a delivery to its use case, and turn what becomes of it into an answer to the bus.

The one place that decides between done, again, and never; and the only one that catches errors
nobody thought of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Final

from shared.app.context import App
from shared.deadline import MARGIN_S
from shared.errors import Permanent, Retryable
from shared.log import context, get
from shared.ports import Delivery
from shared.topology import EMBEDDED_ACK_DEADLINE_S

_log = get("push")

# The use case of each subscription, by its module: a function imports only what it serves.
RECEIVERS: Final[Mapping[str, str]] = {
    "launch-commands": "shared.app.orders",
    "launch": "shared.app.launch",
    "recovery": "shared.app.recovery",
    "report": "shared.app.report",
    "report-audit": "shared.app.audit",
    "alert": "shared.app.alert",
    "park": "shared.app.park",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the bus is told: done, or again (after some seconds, or by its own backoff)."""

    retry: bool = False
    retry_after_s: float | None = None


DONE = Answer()


def receive(app: App, delivery: Delivery, *, limit_s: float = EMBEDDED_ACK_DEADLINE_S) -> Answer:
    """Handle one delivery; never raises.

    ``limit_s`` is when whoever delivers it gives it up: a while before, no effect is begun.
    """
    timed = replace(app, deadline=app.deadline.within(limit_s - MARGIN_S))
    return _answered(delivery, lambda: _handle(timed, delivery))


def refuse(app: App, delivery: Delivery, reason: str) -> Answer:
    """Put aside what is no message for any use case; never raises."""
    return _answered(delivery, lambda: _put_aside(app, delivery, reason))


def receiver_of(subscription: str) -> Callable[[App, Delivery], None]:
    """Return what handles the deliveries of a subscription."""
    receive: Callable[[App, Delivery], None] = import_module(RECEIVERS[subscription]).receive
    return receive


def _handle(app: App, delivery: Delivery) -> None:
    try:
        receiver_of(delivery.subscription)(app, delivery)
    except Permanent as error:
        _put_aside(app, delivery, str(error))


def _put_aside(app: App, delivery: Delivery, reason: str) -> None:
    from shared.app import park

    park.record(app, delivery, delivery.subscription, reason)


def _answered(delivery: Delivery, act: Callable[[], None]) -> Answer:
    fields = {
        "subscription": delivery.subscription,
        "message_id": delivery.id,
        "delivery_attempt": delivery.attempt,
    }
    with context(**fields):
        try:
            act()
        except Retryable as error:
            _log.info("%s again: %s", delivery.subscription, error)
            return Answer(retry=True, retry_after_s=error.after_s)
        except Exception:  # noqa: BLE001 - a bug costs a retry, not the function
            _log.exception("%s failed on %s", delivery.subscription, delivery.id)
            return Answer(retry=True)
    return DONE
