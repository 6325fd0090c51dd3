"""Push requests become deliveries, and what becomes of them a status that Pub/Sub understands."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path

import functions_framework
import pytest
from flask.testing import FlaskClient
from pytest_mock import MockerFixture

from functions import serving
from shared.app.push import Answer
from shared.ports import Delivery, Message

MAIN = Path(serving.__file__).with_name("main.py")
PUBLISHED_AT = datetime(2030, 1, 1, tzinfo=UTC)


def envelope(subscription: str = "launch", data: bytes = b"{}") -> dict[str, object]:
    """Write a push request as Pub/Sub does."""
    return {
        "message": {
            "data": base64.b64encode(data).decode(),
            "attributes": {"kind": "job-due"},
            "messageId": "17",
            "publishTime": "2030-01-01T00:00:00Z",
        },
        "subscription": f"projects/p/subscriptions/{subscription}",
        "deliveryAttempt": 3,
    }


def client_of(target: str) -> FlaskClient:
    """Serve one function as functions-framework serves it."""
    served = functions_framework.create_app(target, str(MAIN))  # type: ignore[no-untyped-call]
    client: FlaskClient = served.test_client()
    return client


def test_a_push_request_is_a_delivery() -> None:
    """With its message, its time and its attempt."""
    delivery = serving.delivery_of(json.dumps(envelope(data=b'{"slice":"s"}')).encode())

    message = Message(b'{"slice":"s"}', {"kind": "job-due"})
    assert Delivery("17", "launch", "launches", message, PUBLISHED_AT, 3) == delivery


@pytest.mark.parametrize(
    "answer, status",
    [(Answer(), 204), (Answer(retry=True), 503), (Answer(retry=True, retry_after_s=5.0), 503)],
)
def test_pubsub_is_told_done_or_again(mocker: MockerFixture, answer: Answer, status: int) -> None:
    """By the status alone."""
    mocker.patch.object(serving, "app")
    receive = mocker.patch("shared.app.push.receive", return_value=answer)

    response = client_of("launch").post("/", json=envelope())

    assert status == response.status_code
    assert "launch" == receive.call_args.args[1].subscription


def test_launch_serves_users_orders_too(mocker: MockerFixture) -> None:
    """They come on a subscription of their own."""
    mocker.patch.object(serving, "app")
    mocker.patch("shared.app.push.receive", return_value=Answer())

    response = client_of("launch").post("/", json=envelope("launch-commands"))

    assert 204 == response.status_code


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        json.dumps(envelope("report")).encode(),
        json.dumps({**envelope(), "message": {"data": "%"}}).encode(),
    ],
)
def test_what_is_no_push_for_this_function_is_refused(mocker: MockerFixture, body: bytes) -> None:
    """And never reaches a use case."""
    receive = mocker.patch("shared.app.push.receive")

    response = client_of("launch").post("/", data=body)

    assert 400 == response.status_code
    receive.assert_not_called()


@pytest.mark.parametrize("target", ["report", "recovery", "launch", "alert", "park"])
def test_every_function_serves_its_subscription(mocker: MockerFixture, target: str) -> None:
    """Under the name that it is deployed with."""
    mocker.patch.object(serving, "app")
    receive = mocker.patch("shared.app.push.receive", return_value=Answer())

    client_of(target).post("/", json=envelope(target))

    receive.assert_called_once()
