"""A push request is read as what Pub/Sub wrote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from functions.envelope import Unread, read
from shared.ports import Delivery, Message
from tests.unit.functions.pushes import body_of, envelope

AT = datetime(2030, 1, 1, microsecond=123_000, tzinfo=UTC)


def test_a_push_request_is_a_delivery() -> None:
    """With its message, its time and its attempt."""
    delivery = read(body_of(envelope(data=b'{"slice":"s"}')), "launch", "")

    message = Message(b'{"slice":"s"}', {"kind": "job-due"})
    assert Delivery("17", "launch", "launches", message, AT, 3) == delivery


def test_what_pubsub_leaves_out_is_empty() -> None:
    """A message of attributes alone has no data; without a dead-letter policy nothing counts."""
    pushed = envelope()
    message = {key: pushed["message"][key] for key in ("messageId", "publishTime")}  # type: ignore[index]
    delivery = read(
        body_of({"message": message, "subscription": pushed["subscription"]}), "launch", ""
    )

    assert (Message(b"", {}), 1) == (delivery.message, delivery.attempt)


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("2030-01-01T00:00:00Z", AT.replace(microsecond=0), id="seconds"),
        pytest.param("2030-01-01T00:00:00.123456789Z", AT.replace(microsecond=123_456), id="nanos"),
        pytest.param("2030-01-01T02:00:00.123+02:00", AT, id="another zone"),
    ],
)
def test_times_have_any_number_of_digits(text: str, expected: datetime) -> None:
    """As Google writes them."""
    found = read(body_of(envelope(publishTime=text)), "launch", "").published_at

    assert (expected, True) == (found, found.utcoffset() in {timedelta(0), timedelta(hours=2)})


def test_the_same_junk_has_the_same_key() -> None:
    """However often it comes; what is kept of it is bounded."""
    found = []
    for body in (b"junk" * 10**6, b"junk" * 10**6, b"other"):
        with pytest.raises(Unread) as caught:
            read(body, "launch", "")
        found.append(caught.value.delivery(AT))

    assert found[0] == found[1]
    assert found[0].id != found[2].id
    assert len(found[0].message.data) <= 10_000


@pytest.mark.parametrize("at", [7, "Canary"])
def test_what_is_wrong_is_said_without_quoting_it(at: object) -> None:
    """It goes into a log."""
    with pytest.raises(Unread) as caught:
        read(body_of(envelope(data=b"Canary", publishTime=at)), "launch", "")

    assert str(caught.value).startswith("no push request: message.publishTime: expected a t")
    assert "Canary" not in str(caught.value)
