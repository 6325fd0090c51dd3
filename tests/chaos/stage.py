"""What chaos is made on: the google wiring on one machine, with wires that can be cut.

The functions reach Google's emulators through wires; users, the sandbox and the checks reach
them directly.
"""

from __future__ import annotations

import base64
import json
import os
import re
import threading
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from cli import emulators, local_runner
from cli.emulated import installation as emulated
from cli.emulator_jars import Kind
from sandbox import processes
from shared import settings as home_settings
from shared.adapters import pubsub, pubsub_setup
from shared.errors import ControlPlaneError
from shared.ports import Delivery
from shared.settings import Settings
from shared.topology import FUNCTIONS, SUBSCRIPTIONS, Subscription, Topic
from shared.wiring import CLOUD_VARIABLE
from tests.chaos.wire import Wire
from tests.installations import Installation, command_line, environment_kept
from tests.sandboxes import QUICK

# What a message was copied for, and how many of a kind are remembered.
_COPY: Final = "copy-of-"
_KEPT: Final = 400
_PULLED_MAX: Final = 100
_ANSWER_S: Final = 30.0
_COPIED: Final = tuple(
    each for each in SUBSCRIPTIONS if each.topic not in {Topic.AUDIT, Topic.DEAD_LETTERS}
)
_PORT: Final = re.compile(r"--port (\d+)")
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class Copies:
    """What was published lately, as Pub/Sub might deliver it once more."""

    settings: Settings
    emulator: str
    _seen: dict[str, deque[Delivery]] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        """Begin to copy; messages from before are not seen."""
        cloud = self.settings.google
        wanted = [_copied(each) for each in _COPIED]
        pubsub_setup.declare(cloud.project, cloud.prefix, wanted, emulator=self.emulator)
        for each in wanted:
            self._seen[each.name] = deque(maxlen=_KEPT)
            threading.Thread(target=self._follow, args=(each,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def recent(self) -> list[tuple[Subscription, Delivery]]:
        """Return what was seen, with the subscription that it was pushed by."""
        by_copy = {f"{_COPY}{each.name}": each for each in _COPIED}
        found = [(by_copy[name], list(seen)) for name, seen in self._seen.items()]
        return [(by, delivery) for by, deliveries in found for delivery in deliveries]

    def body(self, by: Subscription, delivery: Delivery) -> bytes:
        """Write the request by which Pub/Sub pushes a message: its id and time never change."""
        cloud = self.settings.google
        name = f"projects/{cloud.project}/subscriptions/{cloud.prefix}-{by.name}"
        message = {
            "data": base64.b64encode(delivery.message.data).decode(),
            "attributes": dict(delivery.message.attributes),
            "messageId": delivery.id,
            "publishTime": delivery.published_at.isoformat(),
        }
        body = {"message": message, "subscription": name, "deliveryAttempt": delivery.attempt + 1}
        return json.dumps(body).encode()

    def _follow(self, copy: Subscription) -> None:
        cloud = self.settings.google
        inbox = pubsub.connect_inbox(
            cloud.project, cloud.prefix, (copy,), emulator=self.emulator, wait_s=2.0
        )
        while not self._stop.is_set():
            # An emulator that is frozen answers later.
            with suppress(ControlPlaneError):
                for delivery in inbox.pull(copy.name, limit=_PULLED_MAX):
                    self._seen[copy.name].append(delivery)
                    inbox.ack(delivery)


@dataclass(frozen=True)
class Stage:
    """An installation that is up, and where it can be broken."""

    installation: Installation
    settings: Settings
    wires: Mapping[Kind, Wire]
    copies: Copies

    @property
    def status(self) -> Mapping[str, Any]:
        """What the sandbox holds: queued resources, nodes, hosts."""
        return self.installation.admin.get("status")

    @property
    def scheduler(self) -> int:
        """The process that ticks, and that starts dead functions again."""
        served = local_runner.find(self.installation.home, local_runner.SERVED)
        assert served is not None, "nobody kills the stand-in for the platform"
        return served.pid

    def functions(self, name: str) -> list[int]:
        """Find the processes of one function."""
        below = processes.descendants(self.scheduler)
        return [pid for pid in below if f"--target {name} " in command_line(pid)]

    def url(self, name: str) -> str:
        """Say where a function listens; empty while it does not live."""
        found = (_PORT.search(command_line(pid)) for pid in self.functions(name))
        port = next((match[1] for match in found if match), "")
        return f"http://127.0.0.1:{port}/" if port else ""

    def send(self, function: str, body: bytes) -> int:
        """Send a function a request; return the status, 0 for none."""
        assert function in FUNCTIONS, "six functions are served"
        if not (url := self.url(function)):
            return 0
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(url, data=body, headers=headers, method="POST")
        try:
            with _DIRECT.open(request, timeout=_ANSWER_S) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0


@contextmanager
def opened(
    home: Path, *, policy: Mapping[str, float], cloud: Mapping[str, object]
) -> Iterator[Stage]:
    """Set the stage for the time of a block."""
    with environment_kept(), ExitStack() as stack:
        stack.callback(emulated.down, home)
        emulated.prepare(home, cloud={**QUICK, **cloud}, policy=policy)
        settings = _make_admin(home)
        addresses = {
            kind: each.address for kind, each in emulators.find(home / "emulators").items()
        }
        wires = {kind: stack.enter_context(Wire(at)) for kind, at in addresses.items()}
        # What still works ends faster than what waits for an emulator that is gone.
        stack.callback(local_runner.stop, home, local_runner.SERVED)
        with environment_kept():
            os.environ.update({kind.variable: wire.address for kind, wire in wires.items()})
            local_runner.start(home, os.environ[CLOUD_VARIABLE], local_runner.SERVED)
        copies = stack.enter_context(Copies(settings, addresses[Kind.PUBSUB]))
        yield Stage(Installation(home, os.environ[CLOUD_VARIABLE]), settings, wires, copies)


def _make_admin(home: Path) -> Settings:
    """Let the user of this installation pause it."""
    path = home / "settings.toml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("[cloud]", f'[cloud]\nadmins = ["{emulated.USER}"]', 1), "utf-8")
    return home_settings.load()


def _copied(subscription: Subscription) -> Subscription:
    return Subscription(f"{_COPY}{subscription.name}", subscription.topic, dead_letter_topic=None)
