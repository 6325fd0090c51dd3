"""Topics and subscriptions as the topology says, where Terraform does not make them.

That is at the emulators, and in a box's project. Importing this module loads Google's libraries:
let only the wiring do it, and late.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from google.api_core import exceptions as api
from google.protobuf.field_mask_pb2 import FieldMask
from google.pubsub_v1 import PublisherClient, SubscriberClient, types

from shared.adapters import pubsub_calls as calls
from shared.adapters.pubsub_calls import Names
from shared.topology import RETENTION_S, Subscription

EMULATOR_RETENTION_S_MAX: Final = 7 * 24 * 3600

_ROLE: Final = "roles/pubsub.editor"
# What may change in a subscription that is there.
_CHANGING: Final = (
    "ack_deadline_seconds",
    "dead_letter_policy",
    "message_retention_duration",
    "push_config",
    "retry_policy",
)


def declare(
    project: str,
    prefix: str,
    subscriptions: Iterable[Subscription],
    *,
    push_endpoints: Mapping[str, str] | None = None,
    emulator: str = "",
) -> None:
    """Make topics and subscriptions, and change those that are there but differ.

    ``push_endpoints`` are addresses by function; without them all subscriptions are pulled
    from. Raises InvalidRequest, NotAuthorized, RateLimited or Unavailable.  Idempotent: by name.
    """
    wanted, names = tuple(subscriptions), Names(project, prefix)
    publisher, subscriber = calls.publisher(emulator), calls.subscriber(emulator)
    dead_letters = {each.dead_letter_topic for each in wanted if each.dead_letter_topic}
    for topic in sorted({each.topic for each in wanted} | dead_letters):
        _declare_topic(publisher, names.topic(topic))
    for each in _accepted(wanted, emulator):
        endpoint = push_endpoints[each.function] if push_endpoints is not None else ""
        _declare_subscription(subscriber, described(each, names, endpoint))


def described(subscription: Subscription, names: Names, endpoint: str = "") -> types.Subscription:
    """Write a subscription as Google's API does."""
    made = types.Subscription(
        name=names.subscription(subscription.name),
        topic=names.topic(subscription.topic),
        ack_deadline_seconds=int(subscription.ack_deadline_s),
        message_retention_duration=timedelta(seconds=subscription.retention_s),
        # Without a time to live: it never expires, however long nobody asks for it.
        expiration_policy=types.ExpirationPolicy(),
        push_config=types.PushConfig(push_endpoint=endpoint),
    )
    # Without a policy what failed comes again at once.
    if subscription.backoff_max_s:
        made.retry_policy = types.RetryPolicy(
            minimum_backoff=timedelta(seconds=subscription.backoff_min_s),
            maximum_backoff=timedelta(seconds=subscription.backoff_max_s),
        )
    if subscription.dead_letter_topic is not None:
        made.dead_letter_policy = types.DeadLetterPolicy(
            dead_letter_topic=names.topic(subscription.dead_letter_topic),
            max_delivery_attempts=subscription.attempts_max,
        )
    return made


def _accepted(wanted: Iterable[Subscription], emulator: str) -> Iterator[Subscription]:
    """Keep within what an emulator takes; Google takes a month."""
    for each in wanted:
        retention_s = min(each.retention_s, EMULATOR_RETENTION_S_MAX)
        yield replace(each, retention_s=retention_s) if emulator else each


def _declare_topic(client: PublisherClient, path: str) -> None:
    topic = types.Topic(name=path, message_retention_duration=timedelta(seconds=RETENTION_S))
    with calls.translated(path, role=_ROLE):
        try:
            client.create_topic(topic, **calls.CALL)
        except api.AlreadyExists:
            return


def _declare_subscription(client: SubscriberClient, wanted: types.Subscription) -> None:
    with calls.translated(wanted.name, role=_ROLE):
        try:
            client.create_subscription(wanted, **calls.CALL)
        except api.AlreadyExists:
            client.update_subscription(
                subscription=wanted, update_mask=FieldMask(paths=_CHANGING), **calls.CALL
            )
