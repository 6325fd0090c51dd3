"""The zip alone, in an empty folder, serves every function: nothing of this checkout is needed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from importlib.util import cache_from_source
from pathlib import Path
from zipfile import ZipFile

import pytest
import requests

from infra import package
from shared import settings, wiring
from shared.app.messages import MessageKind, alert_message, message
from shared.core.alert_kinds import AlertKind
from shared.core.alerts import installation_alert
from shared.ports import Fields, Message, Query, Store
from shared.topology import DEAD_LETTER_SUBSCRIPTION, FUNCTIONS
from tests.emulators import Emulators
from tests.installations import until
from tests.unit.functions.pushes import envelope

pytestmark = pytest.mark.slow

SITE = Path(sysconfig.get_path("purelib"))
TRACE = "0123456789abcdef0123456789abcdef"
HEADERS = {"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
POST_S = 30.0

# Serves one function in a process of its own, opens all it stands on, and says what that loaded.
PROBE = """
import json, sys
import functions_framework
client = functions_framework.create_app(sys.argv[1], "main.py").test_client()
status = client.post("/", data=sys.stdin.buffer.read()).status_code
from functions.serving import app
app().bus.publish, app().blobs.get, app().slices.list
loaded = [module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)]
print(json.dumps([status, loaded]))
"""


@dataclass(frozen=True)
class Zip:
    """The zip in an empty folder, and the packages that it asks for: all its processes see."""

    folder: Path
    packages: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """Without ``site`` (``-S``) no .pth file adds this checkout or any other package."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "PYTHONPATH": os.pathsep.join([str(self.folder), str(self.packages)]),
            "TPUCTL_HOME": str(self.home),
            # Nothing listens there: what these requests do needs no cloud.
            "TPUCTL_CLOUD": "http://127.0.0.1:9",
        }

    def store(self) -> Store:
        """Open the documents that the functions write."""
        return wiring.open_store(settings.load(self.environment))

    def parked(self) -> list[Fields]:
        """Read what was put aside."""
        return [document.fields for document in self.store().query(Query("parked"))]


@dataclass(frozen=True)
class Served:
    """The six functions at their addresses, and the files that they log to."""

    zip: Zip
    addresses: Mapping[str, str]
    logs: Path

    def post(self, function: str, body: bytes) -> int:
        """Send a request and return its status."""
        return requests.post(
            self.addresses[function], data=body, headers=HEADERS, timeout=POST_S
        ).status_code

    def push(self, function: str, subscription: str, sent: Message) -> int:
        """Send a push request and return its status."""
        pushed = envelope(subscription, sent.data, attributes=dict(sent.attributes))
        return self.post(function, json.dumps(pushed).encode())

    def lines(self, function: str) -> list[dict[str, object]]:
        """Read what a function logged."""
        text = (self.logs / function).read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Zip:
    """Unpack the zip where nothing else is."""
    base = tmp_path_factory.mktemp("zip")
    package.package(package.ROOT, base / "functions.zip")
    found = Zip(base / "unpacked", base / "packages", base / "home")
    with ZipFile(base / "functions.zip") as file:
        file.extractall(found.folder)
    wanted = (found.folder / "requirements.txt").read_text("utf-8")
    install(re.findall(r"^([a-z0-9-]+)==", wanted, re.MULTILINE), found.packages)
    return found


def install(names: list[str], folder: Path) -> None:
    """Install packages and no others: links to what this environment has."""
    for each in metadata.distributions(path=[str(SITE)]):
        if re.sub(r"[-_.]+", "-", each.name).lower() in names:
            for file in each.files or ():
                if file.parts[0] != ".." and file.suffix != ".pyc":
                    link(SITE / file, folder / file)


def link(source: Path, target: Path) -> None:
    """Link a file, and the bytecode beside it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(source)
    compiled = Path(cache_from_source(str(source)))
    if source.suffix == ".py" and compiled.exists():
        place = Path(cache_from_source(str(target)))
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(compiled)


@pytest.fixture(scope="module")
def served(unpacked: Zip, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve all functions with functions-framework, each in a process on a port of its own."""
    logs = tmp_path_factory.mktemp("logs")
    ports = {name: free_port() for name in FUNCTIONS}
    running = {name: serve(unpacked, name, port, logs / name) for name, port in ports.items()}
    try:
        for name, port in ports.items():
            until(partial(answers, port), (logs / f"{name}.err").read_text)
        addresses = {name: f"http://127.0.0.1:{port}/" for name, port in ports.items()}
        yield Served(unpacked, addresses, logs)
    finally:
        for process in running.values():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def serve(unpacked: Zip, name: str, port: int, log: Path) -> subprocess.Popen[bytes]:
    """Start what Google's builder starts."""
    framework = ["-m", "functions_framework", "--target", name, "--source", "main.py"]
    # What the web server says for itself is no line of ours.
    with log.open("wb") as file, log.with_suffix(".err").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-S", *framework, "--host", "127.0.0.1", "--port", str(port)],
            cwd=unpacked.folder,
            env=unpacked.environment,
            stdout=file,
            stderr=errors,
            start_new_session=True,
        )


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def answers(port: int) -> bool:
    """Somebody listens."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def loaded_by(
    unpacked: Zip, environment: Mapping[str, str], function: str, body: bytes
) -> tuple[int, list[Path]]:
    """Serve one request in a process of its own; say with which files."""
    command = [sys.executable, "-S", "-c", PROBE, function]
    probed = subprocess.run(
        command,
        cwd=unpacked.folder,
        env={**unpacked.environment, **environment},
        input=body,
        capture_output=True,
        check=True,
    )
    status, files = json.loads(probed.stdout.splitlines()[-1])
    return status, [Path(file) for file in files]


WAKE = message(MessageKind.SLICE_DUE, {"slice": "nobody", "reason": "a test"})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_needs_nothing_but_the_zip_and_its_requirements(
    unpacked: Zip, emulators: Emulators, cloud_project: str, function: str
) -> None:
    """Deployed to Google, neither a file of this checkout nor a package that is not named."""
    cloud = {"project": cloud_project, "bucket": "bucket", "prefix": "mine"}
    environment = {
        "TPUCTL_SETTINGS": json.dumps({"wiring": "google", "cloud": cloud}),
        "FIRESTORE_EMULATOR_HOST": emulators.firestore,
        "PUBSUB_EMULATOR_HOST": emulators.pubsub,
    }
    body = json.dumps(envelope(f"mine-{function}")).encode()
    status, files = loaded_by(unpacked, environment, function, body)

    assert 204 == status
    assert unpacked.folder / "functions" / "serving.py" in files
    here = [SITE, *(package.ROOT / name for name in ("cli", "functions", "sandbox", "shared"))]
    assert [] == [file for file in files if any(file.is_relative_to(folder) for folder in here)]


@pytest.mark.parametrize("function", sorted(set(FUNCTIONS) - {"health_check"}))
def test_a_malformed_push_is_put_aside(served: Served, function: str) -> None:
    """Acknowledged, so that it does not come again, and kept where people see it."""
    body = f"junk for {function}".encode()

    assert 204 == served.post(function, body)
    assert 1 == [fields["data"] for fields in served.zip.parked()].count(body.decode())


def test_report_hears_a_canary(served: Served) -> None:
    """And writes down that reports come through."""
    sent = message(MessageKind.CANARY, {"at": "2030-01-01T00:00:00Z"})

    assert 204 == served.push("report", "report", sent)
    assert served.zip.store().get("control/canary") is not None


@pytest.mark.parametrize("function", ["launch", "recovery"])
def test_a_wake_about_an_unknown_slice_is_done(served: Served, function: str) -> None:
    """There is nothing to do."""
    assert 204 == served.push(function, function, WAKE)


def test_launch_takes_orders(served: Served) -> None:
    """On their own subscription; one that makes no sense is put aside."""
    assert 204 == served.push("launch", "launch-commands", Message(b'{"version": 99}'))


def test_alert_tells_people(served: Served) -> None:
    """Nobody is configured to be told: done."""
    told = installation_alert(
        AlertKind.CONTROL_PLANE_DEGRADED,
        key="test",
        at=datetime.now(UTC),
        event="MessageParked",
        text="a test",
        reason="parked",
    )

    assert 204 == served.push("alert", "alert", alert_message(told))


def test_park_keeps_a_dead_letter(served: Served) -> None:
    """With the subscription that gave it up."""
    dead = Message(b"a dead letter", {DEAD_LETTER_SUBSCRIPTION: "recovery"})

    assert 204 == served.push("park", "park", dead)
    assert "recovery" in [fields["source"] for fields in served.zip.parked()]


def test_the_tick_ticks_and_logs_as_google_reads_it(served: Served) -> None:
    """One line of JSON with its trace and its account."""
    assert 204 == served.post("health_check", b"{}")

    (tick,) = [line for line in served.lines("health_check") if line.get("message") == "tick"]
    assert ("INFO", "health_check", 0.0) == (
        tick["severity"],
        tick["function"],
        tick["outbox_age_s"],
    )
    assert f"projects/sandbox/traces/{TRACE}" == tick["logging.googleapis.com/trace"]
    assert served.zip.store().get("control/tick") is not None
