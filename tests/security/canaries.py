"""A world full of secrets that can be recognised, and every place where one of them could end."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Final

from shared import log
from shared.adapters.sqlite_bus import SqliteBus
from shared.adapters.webhook import HttpWebhooks
from shared.app.context import App
from shared.core.alert_kinds import AlertKind
from shared.core.alert_routes import Target, WebhookKind
from shared.core.mandates import attempt_token, bid_token
from shared.ports import BidRequest, Bus, Delivery, Message, Store
from shared.settings_alerts import AlertSettings, WebhookSettings
from shared.topology import EMBEDDED_SUBSCRIPTIONS
from tests.log_lines import Lines, captured
from tests.unit.app.records import JOB
from tests.unit.app.signed import Cloud
from tests.webhook_servers import CANARY, Heard

# Of the slice that the job has first, and of the one on which it goes on.
UID, LATER_UID = "uid00001", "uid00002"
# In the form in which `tpuctl` makes them.
SECRET: Final = sha256(b"canary of the installation").hexdigest()
ENV_VALUE: Final = "env-value-Canary-7f"
SIGNING: Final = "signing-Canary-of-a-webhook"
ACCESS: Final = "ya29.Canary-of-an-access-token"
# More than any story makes.
GENERATIONS, ATTEMPTS = range(1, 10), range(10)


class _Heard(SqliteBus):
    """A bus that remembers what was ever published, by topic."""

    def __init__(self, *args: object, said: dict[str, list[Message]]) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self._said = said

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Remember, and publish."""
        self._said.setdefault(topic, []).extend(messages)
        super().publish(topic, messages)


class CanaryWorld(Cloud):
    """A world in which every secret is a canary, and everything that is said is kept.

    ``webhook`` is the address of a webhook that hears of everything.
    """

    def __init__(self, path: Path, webhook: str) -> None:
        self.said: dict[str, list[Message]] = {}
        self.asked: dict[str, BidRequest] = {}
        self.kept: set[tuple[str, bytes]] = set()
        self.id_tokens: list[str] = []
        self._webhook = webhook
        super().__init__(path)

    def open(self) -> None:
        """Open the state file."""
        super().open()
        self.bus.close()
        self.bus = _Heard(self._path, EMBEDDED_SUBSCRIPTIONS, self.clock, said=self.said)
        self.app = self.make_app(self.store, self.bus)

    def make_app(self, store: Store, bus: Bus) -> App:
        """Put the control plane together, with secrets of its own."""
        kinds = tuple(AlertKind)
        target = Target("lab", WebhookKind.GENERIC, kinds=kinds, burst=1000)
        webhook = WebhookSettings(target, url_env="HOOK", signing_secret_env="KEY")
        environ = {"HOOK": self._webhook, "KEY": SIGNING}
        webhooks = HttpWebhooks(AlertSettings({"lab": webhook}), environ, self.clock)
        return replace(super().make_app(store, bus), secret=SECRET.encode(), webhooks=webhooks)

    def token(self, email: str = "ada@example.com", *, by: str = "ours", **changes: object) -> str:
        """Sign a token, and remember it."""
        made = super().token(email, by=by, **changes)
        self.id_tokens.append(made)
        return made

    def cloud_moves(self) -> None:
        """Remember what was asked of the cloud before anything becomes of it."""
        self.asked |= {name: self.slices.asked(name) for name in self.slices.names}
        super().cloud_moves()

    def deliver(self, delivery: Delivery) -> None:
        """Remember what objects held before others take their place."""
        super().deliver(delivery)
        self.kept |= {(name, blob.data) for name, blob in self.blobs._objects.items()}

    @property
    def canaries(self) -> Mapping[str, Collection[str]]:
        """Every secret in the forms in which it could be met, by its kind."""
        secret = SECRET.encode()
        bids = {
            bid_token(secret, uid, number, bid)
            for uid in (UID, LATER_UID)
            for number in GENERATIONS
            for bid in "01"
        }
        attempts = {attempt_token(secret, JOB, number) for number in ATTEMPTS}
        parts = {part for token in self.id_tokens for part in token.split(".")[1:]}
        return {
            "secret": {SECRET, repr(secret), secret.hex()},
            "bid token": bids,
            "attempt token": attempts,
            "id token": parts - {""},
            "access token": {ACCESS},
            "address of the webhook": {CANARY, CANARY.rpartition("/")[2]},
            "signing secret": {SIGNING},
            "value of env": {ENV_VALUE},
        }

    def places(self, heard: Heard) -> Iterator[tuple[str, str]]:
        """Give everything that was ever written or said, with the name of where it stands."""
        for topic, messages in self.said.items():
            yield f"topic {topic}", written(messages)
        for document in self._documents():
            # Of jobs/x/timeline/y the kind is timeline.
            yield f"document of {document[0].split('/')[-2]}", document[1]
        for name, data in self.kept:
            kind = re.sub(r"^teams/\w+/|/uid.*|/[^/]+$", "", name)
            yield f"object in {kind}", f"{name} {data.decode()}"
        yield "request to the cloud", json.dumps([asdict(each) for each in self.asked.values()])
        yield "webhook", json.dumps([each.decode() for each in heard.bodies])
        yield "header of the webhook", json.dumps([dict(each) for each in heard.headers])

    def _documents(self) -> Iterator[tuple[str, str]]:
        with self.store._file.reading() as connection:
            yield from connection.execute("SELECT path, path || fields FROM documents")


def written(messages: Sequence[Message]) -> str:
    """Write down messages with their attributes."""
    return "\n".join(f"{each.data!r} {dict(each.attributes)}" for each in messages)


def met(world: CanaryWorld, places: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Say which kinds of secrets stand in which kinds of places."""
    return {
        (kind, place)
        for place, text in places
        for kind, forms in world.canaries.items()
        if any(form in text for form in forms)
    }


@contextmanager
def both_logs() -> Iterator[tuple[Lines, StringIO]]:
    """Log as a deployed function does, and as a process on a machine; everything there is."""
    text, root = StringIO(), logging.getLogger()
    handler = logging.StreamHandler(text)
    handler.setFormatter(log.TextFormatter(log.FORMAT))
    root.addHandler(handler)
    try:
        with captured() as lines:
            yield lines, text
    finally:
        root.removeHandler(handler)
