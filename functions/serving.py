"""Pub/Sub's push requests as deliveries, and answers as the status codes that it understands.

204 acknowledges, 503 asks for a redelivery by the subscription's backoff, 400 says that the
request is no push at all; such a request is redelivered until it is a dead letter.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Collection
from datetime import datetime
from functools import cache

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from shared import settings, wiring
from shared.app import push
from shared.app.context import App
from shared.ports import Delivery, Message
from shared.topology import SUBSCRIPTIONS

# Where the simulated cloud is, for functions that are served on one machine.
ENDPOINT_VARIABLE = "TPUCTL_CLOUD"
DONE, NO_PUSH, AGAIN = 204, 400, 503

_TOPICS = {subscription.name: subscription.topic for subscription in SUBSCRIPTIONS}


class _Pushed(BaseModel):
    model_config = ConfigDict(frozen=True)

    data: str = ""
    attributes: dict[str, str] = {}
    id: str = Field(alias="messageId")
    published_at: AwareDatetime = Field(alias="publishTime")


class _Envelope(BaseModel):
    model_config = ConfigDict(frozen=True)

    message: _Pushed
    subscription: str
    attempt: int = Field(default=1, alias="deliveryAttempt")


@cache
def app() -> App:
    """Put the installation together once an instance."""
    return wiring.embedded(settings.load(), os.environ[ENDPOINT_VARIABLE])


def pushed(body: bytes, subscriptions: Collection[str]) -> tuple[str, int]:
    """Hand a push request to its use case; only the function's own subscriptions are served."""
    try:
        delivery = delivery_of(body)
    except ValueError as error:
        return f"no push request: {error}", NO_PUSH
    if delivery.subscription not in subscriptions:
        return f"no subscription of this function: {delivery.subscription}", NO_PUSH
    answer = push.receive(app(), delivery)
    return "", AGAIN if answer.retry else DONE


def delivery_of(body: bytes) -> Delivery:
    """Read a push request's body.  Raises ValueError for anything else."""
    try:
        envelope = _Envelope.model_validate_json(body)
        data = base64.b64decode(envelope.message.data, validate=True)
    except (ValidationError, binascii.Error) as error:
        raise ValueError(str(error).splitlines()[0]) from None
    name = envelope.subscription.rpartition("/")[2]
    published_at: datetime = envelope.message.published_at
    return Delivery(
        id=envelope.message.id,
        subscription=name,
        topic=_TOPICS.get(name, ""),
        message=Message(data, envelope.message.attributes),
        published_at=published_at,
        attempt=envelope.attempt,
    )
