"""Push requests as Pub/Sub writes them, and functions served as functions-framework serves them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import functions_framework
from flask.testing import FlaskClient

from functions import main
from shared.app.messages import MessageKind

MAIN = Path(main.__file__)


def envelope(
    subscription: str = "launch", data: bytes | str = b"{}", **message: object
) -> dict[str, object]:
    """Write a push request as Pub/Sub does; data that is a text is not encoded."""
    return {
        "message": {
            "data": data if isinstance(data, str) else base64.b64encode(data).decode(),
            "attributes": {"kind": str(MessageKind.JOB_DUE)},
            "messageId": "17",
            "message_id": "17",
            "publishTime": "2030-01-01T00:00:00.123Z",
            "publish_time": "2030-01-01T00:00:00.123Z",
            **message,
        },
        "subscription": f"projects/p/subscriptions/{subscription}",
        "deliveryAttempt": 3,
    }


def body_of(pushed: dict[str, object]) -> bytes:
    """Write a push request's body."""
    return json.dumps(pushed).encode()


@contextmanager
def client_of(target: str) -> Iterator[FlaskClient]:
    """Serve one function, in this process."""
    served = functions_framework.create_app(target, str(MAIN))  # type: ignore[no-untyped-call]
    with served.test_client() as client:
        yield client
