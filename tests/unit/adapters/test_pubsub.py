"""Pub/Sub when it does not answer as it should, and what we ask it for."""

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.pubsub_v1 import types

from shared.adapters import pubsub, pubsub_calls
from shared.adapters.pubsub import GoogleBus, GoogleInbox
from shared.errors import (
    ControlPlaneError,
    InvalidRequest,
    NotAuthorized,
    RateLimited,
    Unavailable,
)
from shared.ports import Message
from shared.topology import Subscription
from tests.unit.adapters.pubsub_server import Scripted, serving

WORK = Subscription("work", "tasks")
TOPIC = "projects/p/topics/pre-tasks"
PATH = "projects/p/subscriptions/pre-work"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    """Give a Pub/Sub that answers as it is told, and little patience with it."""
    monkeypatch.setitem(pubsub_calls.CALL, "timeout", 5.0)
    monkeypatch.setitem(pubsub_calls.CALL, "retry", pubsub_calls.RETRY.with_timeout(1.0))
    with serving() as scripted:
        yield scripted


@pytest.fixture
def bus(server: Scripted) -> GoogleBus:
    """Give the bus."""
    return pubsub.connect("p", "pre", emulator=server.address)


@pytest.fixture
def inbox(server: Scripted) -> GoogleInbox:
    """Give the inbox."""
    return pubsub.connect_inbox("p", "pre", [WORK], emulator=server.address, wait_s=5.0)


def pulled(attempt: int) -> bytes:
    """Write an answer to a pull: one message."""
    received = types.ReceivedMessage(
        ack_id="a", message=types.PubsubMessage(data=b"x", message_id="1"), delivery_attempt=attempt
    )
    return bytes(types.PullResponse.serialize(types.PullResponse(received_messages=[received])))


def test_publish_is_repeated_when_its_reply_was_lost(bus: GoogleBus, server: Scripted) -> None:
    """The message may be there twice now: whoever receives it must not mind."""
    server.answers = [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE, b""]

    bus.publish("tasks", [Message(b"x", {"kind": "job"})])

    sent = [types.PublishRequest.deserialize(request) for _, request in server.asked]
    assert 3 == len(sent)
    assert all(sent[0] == request for request in sent)
    assert (TOPIC, b"x") == (sent[0].topic, sent[0].messages[0].data)


@pytest.mark.parametrize(
    "status, kind, words",
    [
        pytest.param(
            grpc.StatusCode.NOT_FOUND, InvalidRequest, f"{TOPIC}: as the test said", id="no topic"
        ),
        pytest.param(grpc.StatusCode.INVALID_ARGUMENT, InvalidRequest, TOPIC, id="malformed"),
        pytest.param(
            grpc.StatusCode.PERMISSION_DENIED,
            NotAuthorized,
            rf"{TOPIC}: .* needs roles/pubsub\.publisher",
            id="no role",
        ),
        pytest.param(grpc.StatusCode.UNAUTHENTICATED, NotAuthorized, TOPIC, id="nobody"),
        pytest.param(grpc.StatusCode.RESOURCE_EXHAUSTED, RateLimited, TOPIC, id="too many"),
        pytest.param(grpc.StatusCode.UNAVAILABLE, Unavailable, TOPIC, id="away"),
        pytest.param(grpc.StatusCode.DEADLINE_EXCEEDED, Unavailable, TOPIC, id="late"),
        pytest.param(grpc.StatusCode.INTERNAL, Unavailable, TOPIC, id="broken"),
        pytest.param(grpc.StatusCode.UNKNOWN, Unavailable, TOPIC, id="unknown"),
    ],
)
def test_google_errors_become_ours(
    bus: GoogleBus,
    server: Scripted,
    status: grpc.StatusCode,
    kind: type[ControlPlaneError],
    words: str,
) -> None:
    """With the topic's name."""
    server.answers = [status]

    with pytest.raises(kind, match=words):
        bus.publish("tasks", [Message(b"x")])


def test_permanent_errors_are_not_repeated(bus: GoogleBus, server: Scripted) -> None:
    """They would only come again."""
    server.answers = [grpc.StatusCode.PERMISSION_DENIED]

    with pytest.raises(NotAuthorized):
        bus.publish("tasks", [Message(b"x")])

    assert 1 == len(server.asked)


def test_no_answer_at_all_is_unavailable(
    bus: GoogleBus, server: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call has a limit of time."""
    monkeypatch.setitem(pubsub_calls.CALL, "timeout", 0.2)
    server.answers = [None]

    with pytest.raises(Unavailable):
        bus.publish("tasks", [Message(b"x")])


@pytest.mark.usefixtures("server")
def test_nobody_at_the_address_is_unavailable() -> None:
    """An emulator that died, for example."""
    with pytest.raises(Unavailable, match=TOPIC):
        pubsub.connect("p", "pre", emulator="127.0.0.1:1").publish("tasks", [Message(b"x")])


def test_without_credentials_nothing_opens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In words, not in a trace."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))

    for connect in (pubsub_calls.publisher, pubsub_calls.subscriber):
        with pytest.raises(NotAuthorized, match=r"Pub/Sub: .*none\.json"):
            connect()


@pytest.mark.parametrize(
    "sizes, expected",
    [
        pytest.param([], [], id="nothing"),
        pytest.param([1] * 1000, [1000], id="as many as one call takes"),
        pytest.param([1] * 2001, [1000, 1000, 1], id="more than that"),
        pytest.param([4_500_000] * 3, [2, 1], id="too large together"),
        pytest.param([9_900_000, 1, 9_900_000], [1, 1, 1], id="large ones alone"),
    ],
)
def test_batches_stay_below_the_limits_of_a_call(sizes: list[int], expected: list[int]) -> None:
    """And keep every message once, in order."""
    blob = b"x" * max(sizes, default=0)
    messages = [Message(blob[:size]) for size in sizes]

    found = list(pubsub.batches(messages))

    assert expected == [len(batch) for batch in found]
    assert messages == [message for batch in found for message in batch]


def test_attributes_weigh_as_well() -> None:
    """They are part of the request."""
    messages = [Message(b"x", {"key": "é" * 3_000_000})] * 2

    assert [1, 1] == [len(batch) for batch in pubsub.batches(messages)]


@pytest.mark.parametrize("told, expected", [(0, 1), (1, 1), (7, 7)])
def test_attempts_count_from_one(
    inbox: GoogleInbox, server: Scripted, told: int, expected: int
) -> None:
    """Google tells them only where there is a dead-letter topic."""
    server.answers = [pulled(told)]

    [delivery] = inbox.pull("work")

    assert expected == delivery.attempt


def test_pull_is_repeated_when_its_reply_was_lost(inbox: GoogleInbox, server: Scripted) -> None:
    """What was leased in between comes again by itself."""
    server.answers = [grpc.StatusCode.UNAVAILABLE, pulled(1)]

    assert 1 == len(inbox.pull("work"))


def test_nothing_while_it_waited_is_no_error(inbox: GoogleInbox, server: Scripted) -> None:
    """Google answers a pull when there is something, or never."""
    server.answers = [grpc.StatusCode.DEADLINE_EXCEEDED]

    assert [] == inbox.pull("work", limit=3)


def test_pulling_needs_a_role_of_its_own(inbox: GoogleInbox, server: Scripted) -> None:
    """It is named."""
    server.answers = [grpc.StatusCode.PERMISSION_DENIED]

    with pytest.raises(NotAuthorized, match=rf"{PATH}: .* needs roles/pubsub\.subscriber"):
        inbox.pull("work")


@pytest.mark.parametrize(
    "after_s, expected",
    [
        pytest.param(None, 0, id="by the subscription's policy"),
        pytest.param(0.0, 0, id="at once"),
        pytest.param(0.2, 1, id="whole seconds, never earlier"),
        pytest.param(90.0, 90, id="as said"),
        pytest.param(5000.0, 600, id="no longer than Google allows"),
    ],
)
def test_a_retry_is_the_end_of_a_lease(
    inbox: GoogleInbox, server: Scripted, after_s: float | None, expected: int
) -> None:
    """Of that lease, by its id."""
    server.answers = [pulled(1), b""]
    [delivery] = inbox.pull("work")

    inbox.retry(delivery, after_s=after_s)

    method, request = server.asked[-1]
    asked = types.ModifyAckDeadlineRequest.deserialize(request)
    assert ("ModifyAckDeadline", PATH) == (method, asked.subscription)
    assert (["a"], expected) == (list(asked.ack_ids), asked.ack_deadline_seconds)
