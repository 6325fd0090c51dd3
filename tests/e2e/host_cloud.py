"""A tiny cloud for one test of the host side: metadata server, storage and Pub/Sub in memory.

It speaks just enough of Google's shapes for the agent, on one loopback port, and can be told to
fail. What the agent published and stored is there to be looked at.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeAlias, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from shared.host import agent

BUCKET = "bucket"
MANDATE = "control/mandates/uid/g1.json"
BID_TOKEN = hmac.new(b"secret", b"uid 1 b0", hashlib.sha256).hexdigest()

Json: TypeAlias = dict[str, object]
Found = TypeVar("Found")


def eventually(look: Callable[[], Found | None], *, timeout_s: float = 15.0) -> Found:
    """Return the first thing that a look finds, or fail when the time is over."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not happen in time")


class Cloud:
    """What one host can see of Google; its mandate lies in ``folder``."""

    def __init__(self, folder: str = "") -> None:
        self.folder = folder
        self.changed = threading.Condition()
        self.objects: dict[str, bytes] = {}
        self.snapshots: list[Json] = []
        self.attributes: dict[str, str] = {}
        self.preempted = "FALSE"
        self.broken: set[str] = set()
        self._version = 1
        self._sequence = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"127.0.0.1:{self._server.server_port}"

    @property
    def newest(self) -> Json:
        """The newest snapshot that was published."""
        with self.changed:
            return self.snapshots[-1] if self.snapshots else {}

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def put(self, name: str, data: bytes) -> Json:
        """Store an object and return a reference to it by content."""
        with self.changed:
            self.objects[name] = data
        return {"object": name, "sha256": hashlib.sha256(data).hexdigest()}

    def order(self, action: str, **fields: object) -> int:
        """Write the next mandate and return its sequence."""
        self._sequence += 1
        mandate = {
            "version": 1,
            "slice": "s",
            "slice_uid": "uid",
            "generation": 1,
            "sequence": self._sequence,
            "action": action,
            "reason": "test",
            "job": None,
            "attempt": None,
            "spec": None,
            "bid": "b0",
            "boots": {},
            "run": None,
            "lease_s": 60,
            "grace_s": 5,
            "tokens": {"bids": {"b0": BID_TOKEN}, "attempt": None},
        }
        self.put(self.folder + MANDATE, json.dumps({**mandate, **fields}).encode())
        self.change(attributes={"tpuctl-bell": str(self._sequence)})
        return self._sequence

    def change(self, *, attributes: Mapping[str, str] | None = None, preempted: str = "") -> None:
        """Change what the metadata server says, and wake whoever hangs on it."""
        with self.changed:
            self.attributes.update(attributes or {})
            self.preempted = preempted or self.preempted
            self._version += 1
            self.changed.notify_all()

    def metadata(self, query: Mapping[str, Sequence[str]]) -> tuple[bytes, str]:
        """Answer a recursive GET, hanging if it asks for that."""
        deadline = time.monotonic() + float(query.get("timeout_sec", ["60"])[0])
        with self.changed:
            if query.get("wait_for_change") == ["true"]:
                seen = query.get("last_etag", ["0"])[0]
                self.changed.wait_for(
                    lambda: str(self._version) != seen, deadline - time.monotonic()
                )
            words = {"preempted": self.preempted, "maintenanceEvent": "NONE"}
            body = json.dumps({**words, "attributes": self.attributes}).encode()
            return body, str(self._version)


class Host:
    """One host: its directory and the supervisor in it."""

    def __init__(self, cloud: Cloud, home: Path, *, python: str = sys.executable) -> None:
        self.cloud = cloud
        self.root = home / "opt"
        self.root.mkdir(parents=True)
        (self.root / "agent.py").write_bytes(Path(agent.__file__).read_bytes())
        self._python = python
        self._boot = 0
        self.boot = ""
        self.supervisor: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Boot: a new boot id, and the supervisor as the startup script would run it."""
        self._boot += 1
        self.boot = f"boot-{self._boot}"
        self.supervisor = subprocess.Popen(
            [self._python, str(self.root / "agent.py"), "supervise"],
            env={
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "HOME": str(self.root.parent),
                "TPUCTL_ROOT": str(self.root),
                "TPUCTL_BOOT_ID": self.boot,
                "GCE_METADATA_HOST": self.cloud.address,
                "STORAGE_EMULATOR_HOST": f"http://{self.cloud.address}",
                "PUBSUB_EMULATOR_HOST": self.cloud.address,
            },
            start_new_session=True,
        )

    def agent_pid(self) -> int:
        """Wait for the agent below the supervisor."""
        assert self.supervisor is not None
        return eventually(lambda: next(iter(children(self.supervisor_pid)), None))

    @property
    def supervisor_pid(self) -> int:
        """The supervisor's process id."""
        assert self.supervisor is not None
        return self.supervisor.pid

    def stop(self) -> None:
        """Tell the supervisor to end everything and wait until it has."""
        if self.supervisor is not None:
            self.supervisor.send_signal(signal.SIGTERM)
            self.supervisor.wait(10)


def children(pid: int) -> list[int]:
    """List the live children of a process."""
    return [
        process.pid
        for process in agent.descendants(pid)
        if process.parent == pid and not process.is_zombie
    ]


@contextmanager
def running_cloud(folder: str = "", **config: object) -> Iterator[Cloud]:
    """Run a cloud whose only host is configured for quick tests; it may be of a team."""
    cloud = Cloud(folder)
    fields = {
        "version": 1,
        "project": "sandbox",
        "bucket": BUCKET,
        "mandate": folder + MANDATE,
        "topic": "reports",
        "slice": "s",
        "slice_uid": "uid",
        "generation": 1,
        "bid": "b0",
        "hosts": 1,
        "poll_fast_s": 0.05,
        "poll_slow_s": 0.5,
        "snapshot_s": 5,
        "progress_s": 0.1,
        "log_s": 0.2,
        "supervise_s": 5,
    }
    if folder:
        config["folder"] = folder
    cloud.attributes = {
        "agent-worker-number": "0",
        "worker-network-endpoints": "x:8470:127.0.0.1",
        "tpu-env": "NODE_ID: 'node-1'\nTYPE: 'V4'\n",
        "tpuctl-config": json.dumps({**fields, **config}),
        "tpuctl-agent": Path(agent.__file__).read_text(),
    }
    try:
        yield cloud
    finally:
        cloud.close()


def _handler(  # noqa: C901 - a class of small methods, closed over its cloud
    cloud: Cloud,
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """One request to the tiny cloud."""

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Keep quiet."""

        def do_GET(self) -> None:
            """Metadata and reads of objects."""
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            if url.path.startswith("/computeMetadata/v1/"):
                self._answer(
                    *_metadata(cloud, url.path.removeprefix("/computeMetadata/v1/"), query)
                )
            elif "storage" in cloud.broken:
                self._answer(503, b"{}")
            elif url.path.endswith("/o"):
                self._answer(200, _listing(cloud, query["prefix"][0]))
            else:
                data = cloud.objects.get(unquote(url.path.partition("/o/")[2]))
                self._answer(404 if data is None else 200, data or b"{}")

        def do_POST(self) -> None:
            """Uploads and published messages."""
            url = urlsplit(self.path)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if url.path.endswith(":publish"):
                self._answer(*_publish(cloud, body))
                return
            if "storage" in cloud.broken:
                self._answer(503, b"{}")
                return
            query = parse_qs(url.query)
            name = query["name"][0]
            if query.get("ifGenerationMatch") == ["0"] and name in cloud.objects:
                self._answer(412, b"{}")
                return
            cloud.put(name, body)
            self._answer(200, b"{}")

        def _answer(self, status: int, body: bytes, etag: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", etag)
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _metadata(
    cloud: Cloud, path: str, query: Mapping[str, Sequence[str]]
) -> tuple[int, bytes, str]:
    if path == "instance/":
        body, etag = cloud.metadata(query)
        return 200, body, etag
    if path.startswith("instance/attributes/"):
        value = cloud.attributes.get(path.removeprefix("instance/attributes/"))
        return (404, b"", "") if value is None else (200, value.encode(), "")
    if path.endswith("/token"):
        return 200, b'{"access_token": "t", "expires_in": 3600}', ""
    return (200, b"t1v-n-0-w-0", "") if path == "instance/hostname" else (404, b"", "")


def _listing(cloud: Cloud, prefix: str) -> bytes:
    names = [name for name in cloud.objects if name.startswith(prefix)]
    below = {name[len(prefix) :].partition("/")[0] for name in names}
    return json.dumps({"prefixes": [f"{prefix}{name}/" for name in sorted(below)]}).encode()


def _publish(cloud: Cloud, body: bytes) -> tuple[int, bytes]:
    if "pubsub" in cloud.broken:
        return 503, b"{}"
    for message in json.loads(body)["messages"]:
        with cloud.changed:
            cloud.snapshots.append(json.loads(base64.b64decode(message["data"])))
    return 200, b'{"messageIds": ["1"]}'
