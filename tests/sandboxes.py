"""A real sandbox for tests: its own process, Google's own clients, and patience with a limit."""

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from google.auth.credentials import AnonymousCredentials
from google.cloud import storage, tpu_v2  # type: ignore[attr-defined]  # storage has no types
from google.cloud.tpu_v2.services.tpu.transports import TpuRestTransport

from sandbox import control

ZONE = "us-central2-b"
PARENT = f"projects/sandbox/locations/{ZONE}"
PATIENCE_S = 60.0
_PAUSE_S = 0.005

# Everything at once: tests wait for what happens, not for a cloud.
QUICK: dict[str, object] = dict.fromkeys(
    (
        "create_operation_s",
        "creating_s",
        "waiting_s",
        "provisioning_s",
        "boot_s",
        "delete_s",
        "suspend_s",
        "patch_s",
        "metadata_lag_s",
    ),
    0.02,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Box:
    """A sandbox that is up, and clients of it."""

    home: Path
    url: str
    pid: int
    admin: control.Client
    tpu: tpu_v2.TpuClient

    def bucket(self) -> storage.Bucket:
        """Return the bucket that every sandbox has, through Google's client."""
        client = storage.Client(
            project="sandbox",
            credentials=AnonymousCredentials(),
            client_options={"api_endpoint": self.url},
        )
        return client.bucket("tpuctl-sandbox")

    def request(self, name: str, **node: object) -> tpu_v2.CreateQueuedResourceRequest:
        """Make a request for a two-host slice of this name."""
        spec = {
            "accelerator_type": "v4-16",
            "runtime_version": "tpu-ubuntu2204-base",
            **node,
        }
        return tpu_v2.CreateQueuedResourceRequest(
            parent=PARENT,
            queued_resource_id=name,
            queued_resource={
                "spot": {},
                "tpu": {"node_spec": [{"parent": PARENT, "node_id": name, "node": spec}]},
            },
        )

    def create_slice(self, name: str, script: str, **node: object) -> tpu_v2.Node:
        """Create a two-host slice and wait until its node is READY."""
        metadata = {"startup-script": script}
        self.tpu.create_queued_resource(
            self.request(name, metadata=metadata, **node), timeout=PATIENCE_S
        ).result(timeout=PATIENCE_S)
        return eventually(lambda: self.ready_node(name))

    def ready_node(self, name: str) -> tpu_v2.Node | None:
        """Return the node if it is READY."""
        wanted = f"{PARENT}/nodes/{name}"
        nodes = [node for node in self.tpu.list_nodes(parent=PARENT) if node.name == wanted]
        return nodes[0] if nodes and nodes[0].state == tpu_v2.Node.State.READY else None

    def queued_state(self, name: str) -> str:
        """Return the state of a queued resource, by its name."""
        found = self.tpu.get_queued_resource(name=f"{PARENT}/queuedResources/{name}")
        return str(found.state.state.name)

    def console(self, host: str) -> str:
        """Return what a host has written to its console."""
        path = self.home / "hosts" / host / "console.log"
        return path.read_text("utf-8") if path.exists() else ""

    def host_file(self, host: str, name: str) -> str | None:
        """Return what the startup script wrote into a file of its home, once it is there."""
        path = self.home / "hosts" / host / "home" / name
        return path.read_text("utf-8") or None if path.exists() else None

    def host(self, name: str) -> dict[str, object] | None:
        """Return what the sandbox says of a host."""
        hosts = self.admin.get("status")["hosts"]
        assert isinstance(hosts, list), "hosts are a list"
        return next((host for host in hosts if host["name"] == name), None)


@contextmanager
def running(
    home: Path, *, bus: Path | None = None, has_ssh: bool = False, **settings: object
) -> Iterator[Box]:
    """Run a sandbox for the time of a block; what it publishes goes to a state file."""
    info = control.start(home, settings={**QUICK, **settings}, bus=bus, has_ssh=has_ssh)
    transport = TpuRestTransport(
        host=info.url.removeprefix("http://"),
        url_scheme="http",
        credentials=AnonymousCredentials(),
    )
    try:
        yield Box(
            home,
            info.url,
            info.pid,
            control.Client(info.url),
            tpu_v2.TpuClient(transport=transport),
        )
    finally:
        if control.find(home):
            control.stop(home)


def publish(url: str, topic: str, *messages: object) -> list[str]:
    """Publish as a host does."""
    request = urllib.request.Request(
        f"{url}/v1/projects/sandbox/topics/{topic}:publish",
        data=json.dumps({"messages": messages}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        ids: list[str] = json.load(answer)["messageIds"]
        return ids


def eventually(probe: Callable[[], T | None]) -> T:
    """Return the first thing that the probe finds; give up after a while."""
    deadline = time.monotonic() + PATIENCE_S
    pause = threading.Event()
    while not (found := probe()):
        assert time.monotonic() < deadline, "it never happened"
        pause.wait(_PAUSE_S)
    return found
