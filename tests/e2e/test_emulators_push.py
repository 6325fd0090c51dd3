"""Push through Google's emulator: delivered, tried again, buried and put aside."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from functions import envelope
from shared.adapters import pubsub, pubsub_setup
from shared.ports import Delivery, Message
from shared.topology import DEAD_LETTER_ATTEMPTS, DEAD_LETTER_SUBSCRIPTION, SUBSCRIPTIONS
from tests.emulators import Emulators
from tests.installations import until

PREFIX = "pre"


@dataclass
class Functions:
    """Two functions: one fails on what is bad, the other one puts aside."""

    url: str
    got: dict[str, list[Delivery]] = field(default_factory=lambda: {"recovery": [], "park": []})

    def receive(self, name: str, body: bytes) -> int:
        """Read a push request as a deployed function does; return the status."""
        delivery = envelope.read(body, name, f"{PREFIX}-")
        self.got[name].append(delivery)
        return 500 if name == "recovery" and delivery.message.data == b"bad" else 204


@pytest.fixture
def functions() -> Iterator[Functions]:
    """Serve them."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(made.receive(self.path.strip("/"), body))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Functions(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def bus(functions: Functions, emulators: Emulators, cloud_project: str) -> pubsub.GoogleBus:
    """Give the topology's own subscriptions, less patient than there."""
    quick = [
        replace(each, backoff_min_s=0, backoff_max_s=0, attempts_max=5)
        for each in SUBSCRIPTIONS
        if each.function in functions.got
    ]
    urls = {name: f"{functions.url}/{name}" for name in functions.got}
    pubsub_setup.declare(
        cloud_project, PREFIX, quick, push_endpoints=urls, emulator=emulators.pubsub
    )
    return pubsub.connect(cloud_project, PREFIX, emulator=emulators.pubsub)


def test_what_fails_is_tried_again_then_put_aside(
    functions: Functions, bus: pubsub.GoogleBus
) -> None:
    """With its content, and where it came from; what succeeds comes once."""
    bus.publish("preemptions", [Message(b"bad", {"kind": "x"}), Message(b"good")])

    [buried] = until(lambda: functions.got["park"])

    told = buried.message.attributes
    assert (b"bad", "x", "5") == (buried.message.data, told["kind"], told[DEAD_LETTER_ATTEMPTS])
    assert f"{PREFIX}-recovery" == told[DEAD_LETTER_SUBSCRIPTION]
    tried = [delivery.message.data for delivery in functions.got["recovery"]]
    assert [b"bad"] * 5 + [b"good"] == sorted(tried)


def test_two_thousand_messages_arrive(functions: Functions, bus: pubsub.GoogleBus) -> None:
    """In any order."""
    sent = {json.dumps({"number": number}).encode() for number in range(2000)}

    bus.publish("preemptions", [Message(data) for data in sent])

    until(lambda: len({each.message.data for each in functions.got["recovery"]}) == len(sent))
    assert sent == {each.message.data for each in functions.got["recovery"]}
