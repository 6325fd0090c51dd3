"""The body of a push request, read once: a delivery, or what of it can be put aside."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256

from shared.ports import Delivery, Message
from shared.topology import SUBSCRIPTIONS

# What is kept of a body that is no push request.
KEPT_BYTES_MAX = 10_000
REASON_CHARS_MAX = 500
# What Pub/Sub counts in; no Store takes more than 64 bits.
ATTEMPT_MAX = 2**31 - 1
# Of a hash: shorter than what the log takes for a secret.
ID_CHARS = 24

_SERVED = {subscription.name: subscription for subscription in SUBSCRIPTIONS}


@dataclass(frozen=True, slots=True)
class _Envelope:
    """What Pub/Sub wrote; by hand, because a model of pydantic's costs every cold start."""

    id: str
    subscription: str
    data: str
    attributes: Mapping[str, str]
    published_at: datetime
    attempt: int


class Unread(ValueError):  # noqa: N818 - nobody's fault is named an error here
    """A request that is no delivery of its function's; ``key`` is the same for the same one."""

    def __init__(self, reason: str, *, key: str, source: str, kept: bytes) -> None:
        super().__init__(reason[:REASON_CHARS_MAX])
        self._key = key
        self._source = source
        self._kept = kept[:KEPT_BYTES_MAX]

    def delivery(self, at: datetime) -> Delivery:
        """Return what is put aside of it, at a time."""
        return Delivery(self._key, self._source, "", Message(self._kept), at, 1)


def read(body: bytes, function: str, prefix: str) -> Delivery:
    """Read a push request of one of the function's subscriptions.  Raises Unread.

    ``prefix`` is what the installation puts before the names of its subscriptions.
    """
    try:
        envelope = _envelope(json.loads(body))
    except (ValueError, RecursionError) as error:
        key = sha256(body).hexdigest()[:ID_CHARS]
        # What json says of a body is where it is wrong, and what we say quotes nothing.
        reason = f"no push request: {error}"
        raise Unread(reason, key=key, source=function, kept=body) from None
    text = envelope.data.encode()
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        reason = "the data is not base64"
        raise Unread(reason, key=envelope.id, source=function, kept=text) from None
    name = envelope.subscription.rpartition("/")[2]
    subscription = _SERVED.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
    if subscription is None or subscription.function != function:
        reason = f"no subscription of this function: {name}"
        raise Unread(reason, key=envelope.id, source=function, kept=text)
    return Delivery(
        id=envelope.id,
        subscription=subscription.name,
        topic=subscription.topic,
        message=Message(data, envelope.attributes),
        published_at=envelope.published_at,
        attempt=envelope.attempt,
    )


def _envelope(found: object) -> _Envelope:
    """Check what was sent.  Raises ValueError."""
    envelope = _object("the body", found)
    message = _object("message", envelope.get("message"))
    attributes = _object("message.attributes", message.get("attributes", {}))
    attempt = envelope.get("deliveryAttempt", 1)
    if not isinstance(attempt, int) or not 0 <= attempt <= ATTEMPT_MAX:
        raise ValueError("deliveryAttempt: expected a number")
    return _Envelope(
        id=_text("message.messageId", message.get("messageId")),
        subscription=_text("subscription", envelope.get("subscription")),
        data=_text("message.data", message.get("data", ""), chars_min=0),
        attributes={
            _text("message.attributes", key): _text("message.attributes", value, chars_min=0)
            for key, value in attributes.items()
        },
        published_at=_time("message.publishTime", message.get("publishTime")),
        attempt=attempt,
    )


def _object(where: str, found: object) -> Mapping[str, object]:
    if not isinstance(found, dict):
        raise ValueError(f"{where}: expected an object")  # noqa: TRY004 - as all the others
    return found


def _time(where: str, found: object) -> datetime:
    text = _text(where, found)
    try:
        at = datetime.fromisoformat(text)
        in_utc = at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{where}: expected a time") from None
    if at.tzinfo is None:
        raise ValueError(f"{where}: expected a time with its zone")
    return in_utc


def _text(where: str, found: object, *, chars_min: int = 1) -> str:
    if not isinstance(found, str) or len(found) < chars_min:
        raise ValueError(f"{where}: expected a text")
    found.encode()  # half a character is no text: no Store would take it
    return found
