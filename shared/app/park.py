"""park: put a message aside that can never succeed. Once, visible, in nobody's way."""

from __future__ import annotations

from hashlib import sha256

from shared.app.context import App
from shared.errors import Conflict
from shared.log import get
from shared.ports import Create, Delivery, Fields
from shared.topology import DEAD_LETTER_SUBSCRIPTION

DATA_CHARS_MAX = 100_000
_log = get("park")


def receive(app: App, delivery: Delivery) -> None:
    """Record a dead letter."""
    source = delivery.message.attributes.get(DEAD_LETTER_SUBSCRIPTION, delivery.topic)
    record(app, delivery, source, "it used up its attempts")


def record(app: App, delivery: Delivery, source: str, reason: str) -> None:
    """Write a message and why it was put aside; the same message is one document."""
    text = delivery.message.data.decode("utf-8", "replace")
    key = sha256(f"{source}\0{delivery.id}\0{text}".encode()).hexdigest()[:32]
    fields: Fields = {
        "created_at": app.clock.now(),
        "source": source,
        "reason": reason,
        "data": text[:DATA_CHARS_MAX],
        "attributes": dict(delivery.message.attributes),
        "published_at": delivery.published_at,
        "attempts": delivery.attempt,
    }
    try:
        app.store.commit([Create(f"parked/{key}", fields)])
    except Conflict:
        return  # parked already
    _log.error("parked a message of %s: %s", source, reason)
