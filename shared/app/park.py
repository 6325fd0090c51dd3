"""park: put a message aside that can never succeed. Once, visible, in nobody's way."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice

from shared.app.context import App
from shared.app.relay import Event, outbox_write, relay
from shared.app.troubles import alert_event
from shared.core.alert_kinds import AlertKind
from shared.core.alerts import installation_alert
from shared.core.identity import REMOVED, without_tokens
from shared.core.parking import subscription_of
from shared.errors import Conflict, ControlPlaneError, Permanent, Unavailable
from shared.log import clean, get
from shared.ports import Create, Delivery, Fields, Message, Value
from shared.topology import DEAD_LETTER_SUBSCRIPTION

# Long enough that somebody has read it by then.
KEPT = timedelta(days=90)
DATA_CHARS_MAX = 100_000
REASON_CHARS_MAX = 300
SOURCE_CHARS_MAX = 256
ATTRIBUTES_MAX, ATTRIBUTE_CHARS_MAX = 100, 1024
ALERT_SUBSCRIPTION = "alert"
# What a snapshot shows to be believed (docs/protocol.md §6), also in a text within a text.
_REPORT_TOKENS = re.compile(r'(\\*"(?:bid|attempt)\\*"\s*:\s*\\*")[0-9a-f]{32,64}')
_log = get("park")


def parked_path(key: str) -> str:
    """Name the document of a message that was put aside."""
    return f"parked/{key}"


def receive(app: App, delivery: Delivery) -> None:
    """Record a dead letter.

    Raises Unavailable where that is refused: to put the dead letter itself aside would make two.
    """
    source = delivery.message.attributes.get(DEAD_LETTER_SUBSCRIPTION, delivery.topic)
    source = source[:SOURCE_CHARS_MAX]
    try:
        record(app, delivery, source, "it used up its attempts")
    except Permanent as error:
        raise Unavailable(f"a dead letter of {source} is not recorded: {error}") from error


def record(app: App, delivery: Delivery, source: str, reason: str) -> None:
    """Write a message and why it was put aside; the same message is one document.

    An order is parked without the identity token that came with it, a report without the
    tokens that prove whose it is: whoever may look at documents could use them.
    """
    text = _without_secrets(delivery.message.data.decode("utf-8", "replace"))
    reason = without_tokens(reason)
    key = sha256(f"{source}\0{delivery.id}\0{text}".encode()).hexdigest()[:32]
    now = app.clock.now()
    fields: Fields = {
        "summary": f"a message to {source} that nobody could handle: {reason}",
        "created_at": now,
        "expires_at": now + KEPT,
        "source": source,
        "reason": reason,
        "data": text[:DATA_CHARS_MAX],
        "attributes": _attributes(delivery.message),
        "published_at": delivery.published_at,
        "attempts": delivery.attempt,
    }
    events = [] if _is_alert(source) else [_told(key, source, reason, now)]
    try:
        app.store.commit(
            [Create(parked_path(key), fields), *(outbox_write(event, now) for event in events)]
        )
    except Conflict:
        return  # parked already
    _log.error("parked a message of %s: %s", source, reason)
    with suppress(ControlPlaneError):
        relay(app, events)  # or the next tick does it


def _without_secrets(text: str) -> str:
    return _REPORT_TOKENS.sub(rf"\1{REMOVED}", without_tokens(text))


def _attributes(message: Message) -> dict[str, Value]:
    """Keep as much as Pub/Sub lets anybody say: a document has an end."""
    kept = islice(message.attributes.items(), ATTRIBUTES_MAX)
    return {
        clean(key, ATTRIBUTE_CHARS_MAX): clean(without_tokens(value), ATTRIBUTE_CHARS_MAX)
        for key, value in kept
    }


def _is_alert(source: str) -> bool:
    """An alert about an alert that cannot be told would go round and round."""
    return subscription_of(source) == ALERT_SUBSCRIPTION


def _told(key: str, source: str, reason: str, at: datetime) -> Event:
    alert = installation_alert(
        AlertKind.CONTROL_PLANE_DEGRADED,
        key=f"parked-{key}",
        at=at,
        event="MessageParked",
        text=f"a message of {source} was put aside: {reason[:REASON_CHARS_MAX]}",
        reason="parked",
    )
    return alert_event(alert)
