"""What every deployment consists of, as data: topics, subscriptions and indexes.

The embedded adapters read it to set themselves up, and Terraform reads the same tables, so that
no wiring can deliver or find what another one would not. No behaviour lives here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

# Google's defaults for a subscription with a retry policy, and its longest ack deadline.
ACK_DEADLINE_S = 600.0
BACKOFF_S_MIN = 10.0
BACKOFF_S_MAX = 600.0
ATTEMPTS_MAX = 100

# One machine answers in milliseconds; a handler that takes a minute is dead.
EMBEDDED_ACK_DEADLINE_S = 60.0
EMBEDDED_BACKOFF_S_MIN = 0.1
EMBEDDED_BACKOFF_S_MAX = 5.0

# The attributes of a dead letter: the first three are Google's own names.
DEAD_LETTER_SUBSCRIPTION = "CloudPubSubDeadLetterSourceSubscription"
DEAD_LETTER_ATTEMPTS = "CloudPubSubDeadLetterSourceDeliveryCount"
DEAD_LETTER_PUBLISHED_AT = "CloudPubSubDeadLetterSourceTopicPublishTime"
DEAD_LETTER_TOPIC = "tpuctl-source-topic"


class Topic(StrEnum):
    """Where messages are published. Whoever may publish on one can forge what is on it."""

    COMMANDS = "commands"  # users' orders
    LAUNCHES = "launches"  # internal: look at a job
    PREEMPTIONS = "preemptions"  # internal: look at a slice
    REPORTS = "reports"  # agents
    ALERTS = "alerts"  # what people want to hear
    DEAD_LETTERS = "dead-letters"  # what nobody could handle


@dataclass(frozen=True, slots=True)
class Subscription:
    """Who receives a topic, and how often it is tried before it is given up.

    Without a ``dead_letter_topic`` a message is retried for ever.
    """

    name: str
    topic: str
    ack_deadline_s: float = ACK_DEADLINE_S
    backoff_min_s: float = BACKOFF_S_MIN
    backoff_max_s: float = BACKOFF_S_MAX
    attempts_max: int = ATTEMPTS_MAX
    dead_letter_topic: str | None = Topic.DEAD_LETTERS


@dataclass(frozen=True, slots=True)
class Index:
    """Fields by which one collection is searched together, in this order."""

    collection: str
    fields: tuple[str, ...]


SUBSCRIPTIONS: tuple[Subscription, ...] = (
    Subscription("launch-commands", Topic.COMMANDS),
    Subscription("launch", Topic.LAUNCHES),
    Subscription("recovery", Topic.PREEMPTIONS),
    Subscription("report", Topic.REPORTS),
    Subscription("alert", Topic.ALERTS),
    Subscription("park", Topic.DEAD_LETTERS, dead_letter_topic=None),
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
INDEXES: tuple[Index, ...] = (
    Index("jobs", ("owner", "number")),
    Index("jobs", ("created_at",)),
    Index("jobs", ("owner", "created_at")),
    Index("slices", ("due_at",)),
    Index("slices", ("live",)),
    Index("outbox", ("created_at",)),
    Index("commands", ("created_at",)),
    Index("parked", ("created_at",)),
)
