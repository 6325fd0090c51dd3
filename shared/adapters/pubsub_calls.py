"""What every call to Pub/Sub has: a channel, a limit of time, and Google's errors made ours.

The clients are the generated, synchronous ones: the hand-written one publishes from background
threads, which get no CPU after a function's response. Over gRPC they cost as much to import as
over REST (0.33 s), and a first publish takes half the time, each later one a quarter of it.

Importing this module loads Google's libraries: let only the wiring do it, and late.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from google.api_core import exceptions as api
from google.api_core.retry import Retry, if_exception_type
from google.pubsub_v1 import PublisherClient, SubscriberClient
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport

from shared.adapters.google_channels import OPTIONS, to_emulator
from shared.adapters.google_errors import GOOGLE_ERRORS, failure_of, meaning

# A connection that was idle may be dead; a call repeated within this time finds a new one.
CALL_S: Final = 20.0
RETRY: Final = Retry(
    predicate=if_exception_type(api.ServiceUnavailable, api.InternalServerError, api.Aborted),
    initial=0.1,
    maximum=2.0,
    timeout=15.0,
)
CALL: Final[dict[str, Any]] = {"timeout": CALL_S, "retry": RETRY}


def publisher(emulator: str = "") -> PublisherClient:
    """Open the publishing half, at Google or at an emulator (``host:port``)."""
    if emulator:
        return PublisherClient(
            transport=PublisherGrpcTransport(host=emulator, channel=to_emulator(emulator))
        )
    with translated("Pub/Sub", role="roles/pubsub.publisher"):
        channel = PublisherGrpcTransport.create_channel(options=OPTIONS)
    return PublisherClient(transport=PublisherGrpcTransport(channel=channel))


def subscriber(emulator: str = "") -> SubscriberClient:
    """Open the receiving half, at Google or at an emulator (``host:port``)."""
    if emulator:
        return SubscriberClient(
            transport=SubscriberGrpcTransport(host=emulator, channel=to_emulator(emulator))
        )
    with translated("Pub/Sub", role="roles/pubsub.subscriber"):
        channel = SubscriberGrpcTransport.create_channel(options=OPTIONS)
    return SubscriberClient(transport=SubscriberGrpcTransport(channel=channel))


@dataclass(frozen=True, slots=True)
class Names:
    """Google's names for the topics and subscriptions of one deployment."""

    project: str
    prefix: str

    def topic(self, name: str) -> str:
        """Return the full name of a topic."""
        return f"projects/{self.project}/topics/{self.prefix}-{name}"

    def subscription(self, name: str) -> str:
        """Return the full name of a subscription."""
        return f"projects/{self.project}/subscriptions/{self.prefix}-{name}"


@contextmanager
def translated(what: str, *, role: str) -> Iterator[None]:
    """Turn Google's errors into ours; ``role`` is what an account needs for it."""
    try:
        yield
    except GOOGLE_ERRORS as error:
        raise meaning(failure_of(error), what, role=f"{role} on it") from error
