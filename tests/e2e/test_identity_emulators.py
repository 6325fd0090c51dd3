"""An order through Google's emulators: signed, published, taken off its topic, and answered."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cli.emulated.identity import subject_of
from cli.errors import CliError
from cli.installation import Installation
from cli.orders import Order, give, new_order
from shared import settings, wiring
from shared.adapters import pubsub, pubsub_setup
from shared.app import push
from shared.core.orders import OrderKind
from shared.ports import Inbox
from shared.topology import SUBSCRIPTIONS
from tests.emulators import Emulators
from tests.identities import ADA, EVE, mint, signer

COMMANDS = tuple(each for each in SUBSCRIPTIONS if each.name == "launch-commands")
PREFIX = "tpuctl"


@pytest.fixture
def deployed(
    monkeypatch: pytest.MonkeyPatch, emulators: Emulators, cloud_project: str
) -> Installation:
    """Make an installation in Google's wiring."""
    written = {
        "wiring": "google",
        "installation": "abc123",
        "cloud": {"project": cloud_project, "bucket": "bucket", "prefix": PREFIX},
    }
    monkeypatch.setenv("TPUCTL_SETTINGS", json.dumps(written))
    monkeypatch.setenv("TPUCTL_CLOUD", "http://127.0.0.1:9")
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", emulators.firestore)
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", emulators.pubsub)
    monkeypatch.setenv("TPUCTL_IDENTITY_CERTS", str(signer().certs_path))
    monkeypatch.setenv("TPUCTL_ID_TOKEN", mint())
    pubsub_setup.declare(cloud_project, PREFIX, COMMANDS, emulator=emulators.pubsub)
    return Installation(settings.load())


@pytest.fixture
def served(deployed: Installation, emulators: Emulators) -> Iterator[None]:
    """Serve orders as the function launch does."""
    project = deployed.settings.google.project
    at = emulators.pubsub
    inbox = pubsub.connect_inbox(project, PREFIX, COMMANDS, emulator=at, wait_s=0.5)
    with _serving(deployed, inbox):
        yield


@contextmanager
def _serving(deployed: Installation, inbox: Inbox) -> Iterator[None]:
    app, stop = wiring.open_app(deployed.settings, deployed.endpoint), threading.Event()

    def serve() -> None:
        while not stop.is_set():
            for delivery in inbox.pull("launch-commands"):
                assert push.DONE == push.receive(app, delivery)
                inbox.ack(delivery)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60.0)


def stop_something(deployed: Installation) -> tuple[Order, str]:
    """Give an order that can only be refused, and return the reason."""
    order = new_order(OrderKind.STOP)
    with pytest.raises(CliError) as caught:
        give(deployed, order, {"job": "job000000001", "kill": False})
    return order, str(caught.value)


@pytest.mark.slow
@pytest.mark.usefixtures("served")
def test_who_gave_an_order_comes_through_firestore_and_pubsub(deployed: Installation) -> None:
    """The signature, not the name in the order, and no token in the outcome."""
    order, reason = stop_something(deployed)
    document = deployed.store.get(f"commands/{order.id}")

    assert document is not None
    assert ("ada-example-com", ADA, subject_of(ADA)) == tuple(
        document.fields[name] for name in ("owner", "owner_email", "owner_subject")
    )
    assert "refused: there is no job job000000001" == reason


@pytest.mark.slow
@pytest.mark.usefixtures("served")
def test_another_signer_is_refused_by_a_deployment(
    deployed: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token that somebody made for themselves."""
    monkeypatch.setenv("TPUCTL_ID_TOKEN", mint(EVE, by="other"))

    order, reason = stop_something(deployed)

    assert "refused: the identity token is signed with a key that is not Google's" == reason
    document = deployed.store.get(f"commands/{order.id}")
    assert document is not None
    assert "" == document.fields["owner_email"]
