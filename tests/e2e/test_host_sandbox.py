"""The host side in the sandbox: a gang on a simulated slice, from the startup script on."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sandbox import control
from shared.adapters import storage, tpu
from shared.adapters.sqlite_bus import SqliteBus
from shared.host import agent
from shared.ports import BidRequest
from shared.topology import EMBEDDED_SUBSCRIPTIONS
from tests.e2e.host_cloud import Json
from tests.sandboxes import QUICK, eventually

HOST_DIR = Path(agent.__file__).parent
EXAMPLE = HOST_DIR.parents[1] / "examples" / "digits_jax"
MANDATE = "control/mandates/uid/g1.json"
CONFIG = {
    "version": 1,
    "project": "sandbox",
    "bucket": "tpuctl-sandbox",
    "mandate": MANDATE,
    "slice": "s",
    "slice_uid": "uid",
    "generation": 1,
    "bid": "b0",
    "hosts": 2,
    "poll_fast_s": 0.1,
    "progress_s": 0.5,
    "log_s": 1,
}


@dataclass
class Gang:
    """A two-host slice, what its hosts said last, and the pen for its mandate."""

    home: Path
    url: str
    bus: SqliteBus
    said: dict[int, Json] = field(default_factory=dict)
    sequence: int = 0

    def boot(self) -> None:
        """Ask for the slice as the control plane would."""
        request = BidRequest(
            name="gang",
            zone="us-central2-b",
            accelerator_type="v4-16",
            runtime_version="tpu-ubuntu2204-base",
            tier="spot",
            labels={},
            metadata={
                "tpuctl-config": json.dumps(CONFIG),
                "tpuctl-agent": (HOST_DIR / "agent.py").read_text(),
                "startup-script": (HOST_DIR / "startup.sh").read_text(),
            },
            request_id="00000000-0000-4000-8000-000000000001",
        )
        tpu.connect("sandbox", endpoint=self.url).create(request)

    def put(self, name: str, data: bytes) -> Json:
        """Store an object and return a reference to it by content."""
        storage.connect("tpuctl-sandbox", project="sandbox", endpoint=self.url).put(name, data)
        return {"object": name, "sha256": hashlib.sha256(data).hexdigest()}

    def order(self, action: str, **fields: object) -> None:
        """Write the next mandate."""
        self.sequence += 1
        mandate = {
            "version": 1,
            "slice_uid": "uid",
            "generation": 1,
            "sequence": self.sequence,
            "action": action,
            "lease_s": 60,
            "grace_s": 5,
            "tokens": {"bids": {"b0": "token"}, "attempt": None},
        }
        self.put(MANDATE, json.dumps({**mandate, **fields}).encode())

    def listen(self) -> dict[int, Json]:
        """Take in what was reported and return the newest words of each host."""
        for delivery in self.bus.pull("report", limit=100):
            words = json.loads(delivery.message.data)
            if words["sequence"] > self.said.get(words["host"], {"sequence": -1})["sequence"]:
                self.said[words["host"]] = words
            self.bus.ack(delivery)
        return self.said

    def all_are(self, phase: str) -> bool:
        """Tell whether both hosts are in a phase now."""
        return [phase] * 2 == [words["phase"] for words in self.listen().values()]

    def ended(self) -> list[Json]:
        """Return what both hosts say of their attempt once both have ended it."""
        attempts = [self.listen().get(host, {}).get("attempt") for host in range(2)]
        ended = [x for x in attempts if isinstance(x, dict) and x["flushed"]]
        return ended if len(ended) == len(attempts) else []


@pytest.fixture
def gang(tmp_path: Path) -> Iterator[Gang]:
    """Run a sandbox that reports into a bus."""
    home, state = tmp_path / "sandbox", tmp_path / "state.db"
    info = control.start(home, settings=QUICK, bus=state)
    bus = SqliteBus(state, EMBEDDED_SUBSCRIPTIONS)
    try:
        yield Gang(home, info.url, bus)
    finally:
        bus.close()
        control.stop(home)


@pytest.mark.slow
def test_a_gang_saves_and_leaves_when_one_host_is_warned(gang: Gang, tmp_path: Path) -> None:
    """Real training: a notice to one host makes both save the same step and exit with 0."""
    pytest.importorskip("orbax.checkpoint", reason="the example's libraries are not installed")
    command = ["python", "train.py", "--steps", "5000", "--step-delay-ms", "10"]
    spec = gang.put("specs/s.json", json.dumps(_spec(gang, command)).encode())
    gang.order("prepare", job="j", spec=spec)
    gang.boot()
    eventually(lambda: gang.all_are("prepared"))
    gang.order("start", job="j", attempt=0, spec=spec, **_start(gang, tmp_path))
    eventually(lambda: _step(gang) > 0)

    control.preempt(gang.home, "gang", notice_s=15, hosts=[1])
    warned = eventually(gang.ended)

    assert [0, 0] == [attempt["exit_code"] for attempt in warned]
    assert [False, True] == [attempt["told"] for attempt in warned]
    assert ["", "preempted"] == [gang.said[host]["notice"] for host in range(2)]
    checkpoint = gang.said[0]["checkpoint"]
    assert isinstance(checkpoint, dict)
    assert f"told to go: saved step {checkpoint['step']}\n" in str(warned[1]["evidence"])


def _spec(gang: Gang, command: list[str]) -> Json:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.add(EXAMPLE / "train.py", "train.py")
    code = gang.put("code/c.tar.gz", data.getvalue())
    progress = [r"step (?P<step>\d+)/(?P<total>\d+)"]
    return {"command": command, "env": {"JAX_PLATFORMS": "cpu"}, "code": code, "progress": progress}


def _start(gang: Gang, home: Path) -> Json:
    run = {"number": 1, "checkpoint_dir": str(home / "c"), "output_dir": str(home / "o")}
    return {"bid": "b0", "run": run, "boots": {str(k): v["boot"] for k, v in gang.said.items()}}


def _step(gang: Gang) -> int:
    progress = gang.listen()[0]["progress"]
    return int(progress["step"]) if isinstance(progress, dict) else 0
