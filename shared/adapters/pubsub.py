"""The Bus in Pub/Sub, and the Inbox that a box pulls from it.

Importing this module loads Google's libraries: let only the wiring do it, and late.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC
from typing import Final

from google.api_core import exceptions as api
from google.pubsub_v1 import PublisherClient, SubscriberClient
from google.pubsub_v1.types import PubsubMessage, PullRequest, ReceivedMessage

from shared.adapters import pubsub_calls as calls
from shared.adapters.pubsub_calls import Names
from shared.errors import InvalidRequest
from shared.ports import Delivery, Message
from shared.topology import Subscription

# Pub/Sub's limits: of one message, of one call (10 MB of it), of a lease.
MESSAGE_BYTES_MAX: Final = 10_000_000
BATCH_MESSAGES_MAX: Final = 1000
BATCH_BYTES_MAX: Final = 9_000_000
LEASE_S_MAX: Final = 600
# Long, because a message that is leased just as we stop waiting is lost until its ack deadline.
PULL_S: Final = 20.0


def connect(project: str, prefix: str, *, emulator: str = "") -> GoogleBus:
    """Open the topics of a deployment, at Google or at an emulator (``host:port``).

    Raises NotAuthorized where there are no credentials.
    """
    return GoogleBus(calls.publisher(emulator), Names(project, prefix))


def connect_inbox(
    project: str,
    prefix: str,
    subscriptions: Iterable[Subscription],
    *,
    emulator: str = "",
    wait_s: float = PULL_S,
) -> GoogleInbox:
    """Open subscriptions to pull from; a pull waits up to ``wait_s`` for its first message.

    Raises NotAuthorized where there are no credentials.
    """
    names = Names(project, prefix)
    return GoogleInbox(calls.subscriber(emulator), names, subscriptions, wait_s)


class GoogleBus:
    """Publish in the calling thread: when ``publish`` returns, Google has the messages.

    Raises InvalidRequest, NotAuthorized, RateLimited or Unavailable.
    """

    def __init__(self, client: PublisherClient, names: Names) -> None:
        self._client = client
        self._names = names

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Hand over all messages; after an error some of them may be published.

        A call that got no answer is repeated: receivers meet a message twice anyway.
        """
        path = self._names.topic(topic)
        _check_sizes(messages)
        for batch in batches(messages):
            with calls.translated(path, role="roles/pubsub.publisher"):
                self._client.publish(
                    topic=path,
                    messages=[
                        PubsubMessage(data=message.data, attributes=dict(message.attributes))
                        for message in batch
                    ],
                    **calls.CALL,
                )


@dataclass(frozen=True, slots=True)
class LeasedDelivery(Delivery):
    """A delivery and the id of its lease; the next delivery of the message has another one."""

    ack_id: str


class GoogleInbox:
    """Pull from subscriptions that have no push endpoint.

    Raises InvalidRequest, NotAuthorized, RateLimited or Unavailable.
    """

    def __init__(
        self,
        client: SubscriberClient,
        names: Names,
        subscriptions: Iterable[Subscription],
        wait_s: float,
    ) -> None:
        self._client = client
        self._names = names
        self._topics = {subscription.name: subscription.topic for subscription in subscriptions}
        self._wait_s = wait_s

    def pull(self, subscription: str, *, limit: int = 1) -> list[Delivery]:
        """Lease up to ``limit`` due messages; return none when none comes while it waits."""
        path, topic = self._names.subscription(subscription), self._topics[subscription]
        request = PullRequest(subscription=path, max_messages=limit)
        with _translated(path):
            try:
                found = self._client.pull(request, timeout=self._wait_s, retry=calls.RETRY)
            except api.DeadlineExceeded:
                return []
        return [_delivery(each, subscription, topic) for each in found.received_messages]

    def ack(self, delivery: Delivery) -> None:
        """Forget the message.  Idempotent: by lease."""
        path = self._names.subscription(delivery.subscription)
        with _translated(path):
            self._client.acknowledge(subscription=path, ack_ids=[_lease_of(delivery)], **calls.CALL)

    def retry(self, delivery: Delivery, *, after_s: float | None = None) -> None:
        """Give a message back; one that was delivered again meanwhile is left alone.

        ``after_s`` is where its lease ends; the subscription's backoff may come on top.
        """
        path = self._names.subscription(delivery.subscription)
        lease_s = min(math.ceil(after_s or 0), LEASE_S_MAX)
        with _translated(path):
            self._client.modify_ack_deadline(
                subscription=path,
                ack_ids=[_lease_of(delivery)],
                ack_deadline_seconds=lease_s,
                **calls.CALL,
            )


def batches(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """Cut into what one call may carry; a message over ``BATCH_BYTES_MAX`` goes alone."""
    batch: list[Message] = []
    batch_bytes = 0
    for message in messages:
        size = _size(message)
        if len(batch) == BATCH_MESSAGES_MAX or (batch and batch_bytes + size > BATCH_BYTES_MAX):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(message)
        batch_bytes += size
    if batch:
        yield batch


def _check_sizes(messages: Sequence[Message]) -> None:
    """Refuse a message that Pub/Sub would refuse, before any other one is published."""
    for message in messages:
        if (size := _size(message)) > MESSAGE_BYTES_MAX:
            raise InvalidRequest(f"a message has {size} bytes, more than {MESSAGE_BYTES_MAX}")


def _size(message: Message) -> int:
    texts = (text for item in message.attributes.items() for text in item)
    return len(message.data) + sum(len(text.encode()) for text in texts)


def _delivery(received: ReceivedMessage, subscription: str, topic: str) -> LeasedDelivery:
    message = received.message
    return LeasedDelivery(
        id=message.message_id,
        subscription=subscription,
        topic=topic,
        message=Message(message.data, dict(message.attributes)),
        published_at=PubsubMessage.pb(message).publish_time.ToDatetime(tzinfo=UTC),
        # Only a subscription with a dead-letter topic is told how often it was tried.
        attempt=received.delivery_attempt or 1,
        ack_id=received.ack_id,
    )


def _lease_of(delivery: Delivery) -> str:
    assert isinstance(delivery, LeasedDelivery), "whoever gives a delivery back pulled it"
    return delivery.ack_id


def _translated(path: str) -> AbstractContextManager[None]:
    return calls.translated(path, role="roles/pubsub.subscriber")
