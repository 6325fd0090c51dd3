"""The rows behind the Bus: one a message and subscription, from publishing to acknowledgement.

Every function works inside a transaction that its caller opened. A row is new while ``attempt``
is 0; later ``due_us`` is the end of its lease or of its backoff. New rows are due at once
whatever the clock says, and a due time further away than any lease or backoff was written
before the clock was set back: both are due.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from shared.adapters.sqlite_codec import from_us, time_text
from shared.errors import InvalidRequest
from shared.ports import Delivery, Message
from shared.topology import (
    DEAD_LETTER_ATTEMPTS,
    DEAD_LETTER_PUBLISHED_AT,
    DEAD_LETTER_SUBSCRIPTION,
    DEAD_LETTER_TOPIC,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from shared.topology import Subscription

MESSAGE_BYTES_MAX: Final = 10_000_000  # Pub/Sub's limit
DUE_IN_S_MAX: Final = 600.0  # Pub/Sub's longest ack deadline and backoff

_HORIZON_US: Final = int(DUE_IN_S_MAX * 1_000_000)
_DUE: Final = "subscription = ? AND (due_us <= ? OR due_us > ?)"


def packed(message: Message) -> tuple[str, bytes]:
    """Return the attributes and data of a message as they are stored."""
    return json.dumps(dict(message.attributes)), bytes(message.data)


def check_size(content: tuple[str, bytes]) -> None:
    """Refuse a message that Pub/Sub would refuse."""
    size = sum(map(len, content))
    if size > MESSAGE_BYTES_MAX:
        raise InvalidRequest(f"a message has {size} bytes, more than {MESSAGE_BYTES_MAX}")


def insert(
    connection: sqlite3.Connection,
    receivers: Iterable[Subscription],
    content: tuple[str, bytes],
    now_us: int,
) -> None:
    """Write one new row for every receiver of a message."""
    connection.executemany(
        "INSERT INTO deliveries"
        " (subscription, due_us, attempt, topic, published_us, attributes, data)"
        " VALUES (?, 0, 0, ?, ?, ?, ?)",
        [(receiver.name, receiver.topic, now_us, *content) for receiver in receivers],
    )


def is_any_due(connection: sqlite3.Connection, names: Iterable[str], now_us: int) -> bool:
    """Tell whether a subscription has something to pull."""
    sql = f"SELECT EXISTS (SELECT 1 FROM deliveries WHERE {_DUE})"  # noqa: S608 - a constant
    return any(
        connection.execute(sql, _due_parameters(name, now_us)).fetchone()[0] for name in names
    )


def next_due_us(connection: sqlite3.Connection, names: Iterable[str]) -> float:
    """Return when the next lease or backoff ends, infinity for never."""
    sql = "SELECT min(due_us) FROM deliveries WHERE subscription = ?"
    found = [connection.execute(sql, (name,)).fetchone()[0] for name in names]
    return min((due_us for due_us in found if due_us is not None), default=math.inf)


def due(connection: sqlite3.Connection, name: str, now_us: int, limit: int) -> list[Delivery]:
    """Read the rows that are due; ``attempt`` says how often each was delivered before."""
    sql = (
        "SELECT id, subscription, topic, data, attributes, published_us, attempt"  # noqa: S608 - a constant
        f" FROM deliveries WHERE {_DUE} ORDER BY due_us, id LIMIT ?"
    )
    rows = connection.execute(sql, (*_due_parameters(name, now_us), limit)).fetchall()
    return [_delivery(row) for row in rows]


def lease(connection: sqlite3.Connection, delivery: Delivery, until_us: int) -> Delivery:
    """Count one more attempt and hide the row until its lease ends."""
    taken = replace(delivery, attempt=delivery.attempt + 1)
    connection.execute(
        "UPDATE deliveries SET attempt = ?, due_us = ? WHERE id = ?",
        (taken.attempt, until_us, taken.id),
    )
    return taken


def is_held(connection: sqlite3.Connection, delivery: Delivery) -> bool:
    """Tell whether this delivery is still the newest of its message."""
    row = connection.execute(
        "SELECT attempt FROM deliveries WHERE id = ?", (delivery.id,)
    ).fetchone()
    return row is not None and row[0] == delivery.attempt


def postpone(connection: sqlite3.Connection, delivery: Delivery, until_us: int) -> None:
    """Hide a row until its backoff ends."""
    connection.execute("UPDATE deliveries SET due_us = ? WHERE id = ?", (until_us, delivery.id))


def forget(connection: sqlite3.Connection, delivery: Delivery) -> None:
    """Remove a row."""
    connection.execute("DELETE FROM deliveries WHERE id = ?", (delivery.id,))


def release(connection: sqlite3.Connection) -> None:
    """End all leases and backoffs now."""
    connection.execute("UPDATE deliveries SET due_us = 0 WHERE due_us > 0")


def dead_letter(delivery: Delivery) -> Message:
    """Return the message that tells where a spent one came from and how often it was tried."""
    told = {
        DEAD_LETTER_SUBSCRIPTION: delivery.subscription,
        DEAD_LETTER_ATTEMPTS: str(delivery.attempt),
        DEAD_LETTER_PUBLISHED_AT: time_text(delivery.published_at),
        DEAD_LETTER_TOPIC: delivery.topic,
    }
    return replace(delivery.message, attributes={**delivery.message.attributes, **told})


def _due_parameters(name: str, now_us: int) -> tuple[str, int, int]:
    return name, now_us, now_us + _HORIZON_US


def _delivery(row: tuple[int, str, str, bytes, str, int, int]) -> Delivery:
    number, subscription, topic, data, attributes, published_us, attempt = row
    return Delivery(
        id=str(number),
        subscription=subscription,
        topic=topic,
        message=Message(data, json.loads(attributes)),
        published_at=from_us(published_us),
        attempt=attempt,
    )
