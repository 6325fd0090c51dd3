"""The stage for commands: an installation with jobs in it, and somebody who plays launch."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol, Self

from sandbox.processes import start_time
from shared import settings as home_settings
from shared import wiring
from shared.catalog_data import load_catalog
from shared.core.codec import to_fields
from shared.core.model import Attempt, Job
from shared.core.slices import Bid, Generation, Kind, Mandate, Slice
from shared.core.spec import parse_spec, resolve, spec_sha256, to_document
from shared.core.stages import Stage
from shared.ports import Create, Replace

OWNER = "ada"
PATIENCE_S = 60.0
PLACE = ("--name", "digits", "--type", "v4-16", "--zone", "us-central2-b")
JOB_YAML = """\
name: digits
accelerator_type: v4-16
zones: [us-central2-b]
command: [python, train.py]
env:
  RATE: 0.10
  KEPT: "yes"
on:
  hang: stop
tags: [baseline]
"""


@dataclass(frozen=True, slots=True)
class Result:
    """What a command printed and exited with."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The line that says what is wrong; there is exactly one."""
        (line,) = [line for line in self.err.splitlines() if line.startswith("error: ")]
        return line.removeprefix("error: ")

    @property
    def next_step(self) -> str:
        """The line that says what to do; it is the last one."""
        last = self.err.splitlines()[-1]
        assert last.startswith("next: "), self.err
        return last.removeprefix("next: ")


class Tpuctl(Protocol):
    """Calls the program."""

    def __call__(self, *words: str) -> Result:
        """Run a command."""
        ...


class Installed:
    """One installation whose documents tests write."""

    def __init__(self) -> None:
        self.settings = home_settings.load()
        self.store = wiring.open_local_store(self.settings)
        self.bus = wiring.open_local_bus(self.settings)

    @property
    def home(self) -> Path:
        """Its folder."""
        return self.settings.home

    def put(self, path: str, value: Any) -> None:
        """Write a document, whether it is there or not."""
        fields = value if isinstance(value, Mapping) else to_fields(value)
        found = self.store.get(path)
        self.store.commit([Replace(path, fields, found.token) if found else Create(path, fields)])

    def put_job(self, job: Job) -> Job:
        """Write a job."""
        self.put(f"jobs/{job.id}", job)
        return job

    def put_attempt(self, attempt: Attempt) -> Attempt:
        """Write an attempt."""
        self.put(f"jobs/{attempt.job}/attempts/{attempt.number}", attempt)
        return attempt

    def put_slice(self, slice_: Slice) -> Slice:
        """Write a slice."""
        self.put(f"slices/{slice_.name}", slice_)
        return slice_

    def say(self, job: Job, key: str, text: str, **fields: Any) -> None:
        """Write an entry of a job's timeline."""
        entry = {"at": now(), "who": "launch", "event": "Told", "text": text, **fields}
        self.put(f"jobs/{job.id}/timeline/{key}", entry)

    def pretend_up(self) -> None:
        """Let this process stand for the local runner and for the sandbox."""
        me = {"pid": os.getpid(), "started": start_time(os.getpid())}
        cloud = "http://127.0.0.1:9"
        write(self.home / "runner.json", json.dumps({**me, "endpoint": cloud}))
        write(self.home / "sandbox" / "sandbox.json", json.dumps({**me, "url": cloud}))


def write(path: Path, text: str) -> Path:
    """Write a file, and its folder first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)


def ago(seconds: float) -> datetime:
    """Return a moment in the past."""
    return now() - timedelta(seconds=seconds)


def make_job(number: int = 1, **changes: Any) -> Job:
    """Make a job that trains."""
    name = changes.pop("name", f"digits-{number}")
    written = {
        "name": name,
        "command": ["python", "train.py"],
        "accelerator_type": "v4-16",
        "zones": ["us-central2-b"],
        **changes.pop("spec", {}),
    }
    spec = resolve(parse_spec(written), load_catalog())
    job = Job(
        id=f"j{number:011d}",
        number=number,
        owner=OWNER,
        name=name,
        spec=to_document(spec),
        spec_sha256=spec_sha256(spec),
        created_at=ago(3600),
        slice=f"{name}-s",
        slice_uid="a2345678",
        stage=Stage.RUNNING,
        accelerator_type="v4-16",
        zone="us-central2-b",
        attempt=0,
    )
    return replace(job, **changes)


def make_attempt(job: Job, number: int, **changes: Any) -> Attempt:
    """Make an attempt of a job."""
    attempt = Attempt(
        number=number,
        job=job.id,
        slice=job.slice,
        slice_uid=job.slice_uid,
        generation=number,
        bid="0",
        zone=job.zone,
        accelerator_type=job.accelerator_type,
        spec_sha256=job.spec_sha256,
        run=0,
        resumes=number,
        ordered_at=ago(600),
    )
    return replace(attempt, **changes)


def make_slice(job: Job, **changes: Any) -> Slice:
    """Make the slice that a job runs on."""
    bid = Bid(
        id="0",
        name="tpuctl-abc123-a2345678-g0-b0",
        zone=job.zone,
        accelerator_type=job.accelerator_type,
        tier="spot",
        runtime_version="tpu-ubuntu2204-base",
        hosts=2,
        intended_at=ago(900),
        state="ACTIVE",
    )
    mandate = Mandate(sequence=1, action="start", reason="", ordered_at=ago(600))
    generation = Generation(
        number=0, cause="", created_at=ago(900), mandate=mandate, bids=(bid,), claimed="0"
    )
    found = Slice(
        name=job.slice,
        uid=job.slice_uid,
        owner=job.owner,
        kind=Kind.TEMPORARY,
        accelerator_type=job.accelerator_type,
        zones=(job.zone,),
        tier="spot",
        runtime_version="tpu-ubuntu2204-base",
        hosts=2,
        created_at=ago(900),
        job=job.id,
        generations=(generation,),
    )
    return replace(found, **changes)


Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def accept(command: Mapping[str, Any]) -> Mapping[str, Any]:
    """Accept whatever is ordered."""
    return {"outcome": "accepted", "reason": "", "job": command["args"].get("job", ""), "number": 7}


def refuse(reason: str) -> Answer:
    """Refuse whatever is ordered."""
    return lambda _: {"outcome": "refused", "reason": reason, "job": "", "number": 0}


@dataclass(slots=True)
class Launch:
    """Plays the function launch: answers commands, and remembers them."""

    installed: Installed
    answer: Answer = accept
    commands: list[dict[str, Any]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin to listen."""
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Listen no more."""
        self._stop.set()
        assert self._thread is not None, "it was entered"
        self._thread.join(PATIENCE_S)

    @property
    def args(self) -> dict[str, Any]:
        """The arguments of the only command."""
        (command,) = self.commands
        args: dict[str, Any] = command["args"]
        return args

    def _listen(self) -> None:
        bus = self.installed.bus
        while not self._stop.is_set():
            bus.wait(["launch-commands"], 0.05)
            for delivery in bus.pull("launch-commands", limit=10):
                assert {"kind": "command"} == delivery.message.attributes
                command = json.loads(delivery.message.data)
                self.commands.append(command)
                told = {key: command[key] for key in ("id", "kind", "owner")}
                fields = {**told, **self.answer(command), "created_at": now()}
                self.installed.put(f"commands/{command['id']}", fields)
                bus.ack(delivery)
