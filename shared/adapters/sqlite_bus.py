"""The Bus and its Inbox in the state file: at least once, in any order, for many processes.

Publishing writes one row for every subscription of the topic, in one transaction. Pulling leases
a row until the ack deadline; acknowledging deletes it. What is neither acknowledged nor given
back in time is due again, and what used up its attempts goes to the dead-letter topic. New
messages come before repeated ones.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from shared.adapters import sqlite_deliveries as rows
from shared.adapters.sqlite_codec import to_us
from shared.adapters.sqlite_file import StateFile
from shared.adapters.system import SystemClock
from shared.errors import InvalidRequest

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from shared.ports import Clock, Delivery, Message
    from shared.topology import Subscription

POLL_S: Final = 0.02


class SqliteBus:
    """Publish to topics and pull from subscriptions, in a file made when it is missing.

    Raises StateFileError when the file may not be used.
    """

    def __init__(
        self, path: Path, subscriptions: Iterable[Subscription], clock: Clock | None = None
    ) -> None:
        self._subscriptions = {subscription.name: subscription for subscription in subscriptions}
        self._receivers = _by_topic(self._subscriptions.values())
        self._clock = clock or SystemClock()
        self._file = StateFile(path)

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Hand over all messages or none."""
        if topic not in self._receivers:
            raise InvalidRequest(f"no subscription receives the topic {topic!r}")
        contents = [rows.packed(message) for message in messages]
        for content in contents:
            rows.check_size(content)
        with self._file.writing() as connection:
            for content in contents:
                rows.insert(connection, self._receivers[topic], content, self._now_us())

    def pull(self, subscription: str, *, limit: int = 1) -> list[Delivery]:
        """Lease up to ``limit`` due messages; spent ones go to the dead-letter topic instead."""
        if not self.is_due([subscription]):
            return []
        declared, now_us = self._subscriptions[subscription], self._now_us()
        until_us = now_us + _us(declared.ack_deadline_s)
        with self._file.writing() as connection:
            due = rows.due(connection, subscription, now_us, limit)
            spent = [delivery for delivery in due if _is_spent(declared, delivery)]
            for delivery in spent:
                self._bury(connection, delivery)
            return [
                rows.lease(connection, delivery, until_us)
                for delivery in due
                if delivery not in spent
            ]

    def ack(self, delivery: Delivery) -> None:
        """Forget the message, also when its lease ran out meanwhile.  Idempotent."""
        with self._file.writing() as connection:
            rows.forget(connection, delivery)

    def retry(self, delivery: Delivery, *, after_s: float | None = None) -> None:
        """Give a message back; one that was delivered again meanwhile is left alone."""
        declared = self._subscriptions[delivery.subscription]
        wait_s = backoff_s(declared, delivery.attempt) if after_s is None else after_s
        due_us = self._now_us() + _us(min(wait_s, rows.DUE_IN_S_MAX))
        with self._file.writing() as connection:
            if not rows.is_held(connection, delivery):
                return
            if _is_spent(declared, delivery):
                self._bury(connection, delivery)
            else:
                rows.postpone(connection, delivery, due_us)

    def is_due(self, subscriptions: Sequence[str]) -> bool:
        """Tell whether any of the subscriptions has something to pull now."""
        with self._file.reading() as connection:
            return rows.is_any_due(connection, subscriptions, self._now_us())

    def wait(self, subscriptions: Sequence[str], timeout_s: float) -> bool:
        """Return True as soon as something is due, published by whomever; False at the timeout.

        An idle poll only asks SQLite whether the file changed, which takes some microseconds.
        """
        deadline = time.monotonic() + timeout_s
        pause = threading.Event()
        version, wake_us = -1, 0.0
        with self._file.reading() as connection:
            while True:
                found = connection.execute("PRAGMA data_version").fetchone()[0]
                if found != version or self._now_us() >= wake_us:
                    if rows.is_any_due(connection, subscriptions, self._now_us()):
                        return True
                    version, wake_us = found, rows.next_due_us(connection, subscriptions)
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return False
                pause.wait(min(POLL_S, left_s))

    def release(self) -> None:
        """Make every message due now: for the only consumer, when it starts after a crash."""
        with self._file.writing() as connection:
            rows.release(connection)

    def backlog(self) -> Mapping[str, int]:
        """Count the messages that are not acknowledged yet, by subscription."""
        sql = "SELECT subscription, count(*) FROM deliveries GROUP BY subscription"
        with self._file.reading() as connection:
            counts = dict(connection.execute(sql).fetchall())
        return {name: counts.get(name, 0) for name in self._subscriptions}

    def close(self) -> None:
        """Close the file in this process; no call may be under way."""
        self._file.close()

    def _bury(self, connection: sqlite3.Connection, delivery: Delivery) -> None:
        """Move a spent message to the dead-letter topic, in the caller's transaction."""
        topic = self._subscriptions[delivery.subscription].dead_letter_topic
        assert topic is not None, "only a subscription with a dead-letter topic gives up"
        content = rows.packed(rows.dead_letter(delivery))
        rows.forget(connection, delivery)
        rows.insert(connection, self._receivers[topic], content, self._now_us())

    def _now_us(self) -> int:
        return to_us(self._clock.now())


def backoff_s(subscription: Subscription, attempt: int) -> float:
    """Return how long to wait after a failed attempt: doubled each time, up to the maximum."""
    doublings = min(attempt - 1, 60)  # beyond that any maximum is long reached
    return min(subscription.backoff_max_s, subscription.backoff_min_s * 2.0**doublings)


def _is_spent(subscription: Subscription, delivery: Delivery) -> bool:
    return (
        subscription.dead_letter_topic is not None and delivery.attempt >= subscription.attempts_max
    )


def _by_topic(subscriptions: Iterable[Subscription]) -> dict[str, list[Subscription]]:
    """Group by topic, and make sure that dead letters are received by somebody."""
    topics: dict[str, list[Subscription]] = {}
    for subscription in subscriptions:
        topics.setdefault(subscription.topic, []).append(subscription)
    for subscription in subscriptions:
        dead = subscription.dead_letter_topic
        assert dead is None or dead in topics, f"nobody receives the topic {dead}"
    return topics


def _us(seconds: float) -> int:
    return int(seconds * 1_000_000)
