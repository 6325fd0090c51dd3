"""What every deployment consists of: topics, subscriptions, functions and indexes.

``data/topology.json`` is the one definition. Terraform reads it, the emulators and the embedded
adapters are set up from it, so that no wiring can deliver or find what another one would not.
No behaviour lives here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.resources import files
from typing import Any

_TOPOLOGY: Mapping[str, Any] = json.loads(
    files("shared").joinpath("data/topology.json").read_text(encoding="utf-8")
)
_DELIVERY: Mapping[str, int] = _TOPOLOGY["delivery"]

RETENTION_S = _DELIVERY["retention_s"]

# One machine answers in milliseconds; a handler that takes a minute is dead.
EMBEDDED_ACK_DEADLINE_S = 60.0
EMBEDDED_BACKOFF_S_MIN = 0.1
EMBEDDED_BACKOFF_S_MAX = 5.0

# The attributes of a dead letter: the first three are Google's own names.
DEAD_LETTER_PREFIX = "CloudPubSubDeadLetterSource"
DEAD_LETTER_SUBSCRIPTION = f"{DEAD_LETTER_PREFIX}Subscription"
DEAD_LETTER_ATTEMPTS = f"{DEAD_LETTER_PREFIX}DeliveryCount"
DEAD_LETTER_PUBLISHED_AT = f"{DEAD_LETTER_PREFIX}TopicPublishTime"
DEAD_LETTER_TOPIC = "tpuctl-source-topic"


class Topic(StrEnum):
    """Where messages are published. Whoever may publish on one can forge what is on it."""

    COMMANDS = "commands"  # users' orders
    LAUNCHES = "launches"  # internal: look at a job
    PREEMPTIONS = "preemptions"  # internal: look at a slice
    REPORTS = "reports"  # agents
    AUDIT = "audit"  # Google's own audit log, by a sink that no worker can write to
    ALERTS = "alerts"  # what people want to hear
    DEAD_LETTERS = "dead-letters"  # what nobody could handle


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who receives a topic, and how often it is tried before it is given up.

    Without a ``dead_letter_topic`` a message is retried for ever.
    """

    name: str
    topic: str
    ack_deadline_s: float = _DELIVERY["ack_deadline_s"]
    backoff_min_s: float = _DELIVERY["backoff_min_s"]
    backoff_max_s: float = _DELIVERY["backoff_max_s"]
    attempts_max: int = _DELIVERY["attempts_max"]
    dead_letter_topic: str | None = Topic.DEAD_LETTERS
    function: str = ""
    retention_s: int = RETENTION_S


@dataclass(frozen=True, slots=True)
class Index:
    """Fields by which one collection is searched together, in this order.

    A leading ``-`` says that the order goes down; only Firestore cares.
    """

    collection: str
    fields: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The fields alone."""
        return tuple(field.removeprefix("-") for field in self.fields)


@dataclass(frozen=True, slots=True)
class Function:
    """One deployed function and its limits."""

    name: str
    timeout_s: float
    memory_mib: int
    instances_max: int


def _subscription(name: str, fields: Mapping[str, str]) -> Subscription:
    """Read one; what nobody could handle is retried for ever by whoever puts it aside."""
    is_last = fields["topic"] == Topic.DEAD_LETTERS
    dead_letters = None if is_last else Topic.DEAD_LETTERS
    return Subscription(
        name,
        fields["topic"],
        dead_letter_topic=dead_letters,
        function=fields["function"],
        retention_s=_DELIVERY["dead_letter_retention_s"] if is_last else RETENTION_S,
    )


FUNCTIONS: Mapping[str, Function] = {
    name: Function(name, **fields) for name, fields in _TOPOLOGY["functions"].items()
}
SUBSCRIPTIONS: tuple[Subscription, ...] = tuple(
    _subscription(name, fields) for name, fields in _TOPOLOGY["subscriptions"].items()
)

EMBEDDED_SUBSCRIPTIONS: tuple[Subscription, ...] = tuple(
    replace(
        subscription,
        ack_deadline_s=EMBEDDED_ACK_DEADLINE_S,
        backoff_min_s=EMBEDDED_BACKOFF_S_MIN,
        backoff_max_s=EMBEDDED_BACKOFF_S_MAX,
    )
    for subscription in SUBSCRIPTIONS
)

# Firestore makes the indexes of one field by itself; those of several must be declared there.
INDEXES: tuple[Index, ...] = tuple(
    Index(each["collection"], tuple(each["fields"])) for each in _TOPOLOGY["indexes"]
)

# What a box pulls agents' reports from; the name keeps it beside the functions' subscription.
# Nobody reads dead letters there: what cannot be handled is tried until Pub/Sub forgets it.
BOX_REPORTS = Subscription(
    "box-reports", Topic.REPORTS, ack_deadline_s=EMBEDDED_ACK_DEADLINE_S, dead_letter_topic=None
)
