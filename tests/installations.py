"""A whole installation for tests: sandbox, local runner and CLI, all real, in a home of its own.

Jobs run ``tests/steps.py``; what they did is read from their diaries, what the control plane
knows from its documents.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

from cli import emulators, local_runner
from cli.emulated import installation as emulated
from cli.emulator_jars import Kind
from cli.emulators import Emulator
from cli.installation import Installation as Opened
from cli.job_view import JobView, read_view
from cli.jobs import find_job
from sandbox import control, processes
from shared import settings as home_settings
from shared.core.model import Attempt, Job, Writer
from shared.core.slices import Slice
from shared.wiring import CLOUD_VARIABLE
from tests.sandboxes import QUICK, ZONE

STEPS: Final = Path(__file__).parent / "steps.py"
TPUCTL: Final = Path(sys.executable).parent / "tpuctl"
AGENT: Final = "agent.py run"
PATIENCE_S: Final = 60.0
OK: Final = 200
CLI_S: Final = 60.0
_PAUSE_S: Final = 0.02

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a workload's diary; ``at`` is the machine's clock."""

    what: str
    host: int
    attempt: int
    step: int
    pid: int
    checkpoints: str
    at: float


@dataclass(frozen=True)
class Installation:
    """An installation that is up, and the hands to use and to break it."""

    home: Path
    url: str
    # What names Google's emulators and our own stand-ins to every process.
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def admin(self) -> control.Client:
        """The sandbox's own API."""
        return control.Client(self.url)

    @cached_property
    def opened(self) -> Opened:
        """The documents, as the CLI reads them."""
        return Opened(home_settings.load({"TPUCTL_HOME": str(self.home)}))

    def tpuctl(self, *words: str) -> str:
        """Run a command of the CLI that must succeed; return what it printed."""
        done = subprocess.run(
            [TPUCTL, *words],
            env={**os.environ, "TPUCTL_HOME": str(self.home)},
            cwd=STEPS.parents[1],
            capture_output=True,
            timeout=CLI_S,
            check=False,
        )
        assert done.returncode == 0, f"tpuctl {words[0]}: {done.stderr.decode()}"
        return done.stdout.decode()

    def run(
        self,
        name: str,
        *flags: str,
        command: tuple[str, ...] = (),
        on: str = "",
        steer: tuple[str, ...] = (),
    ) -> Work:
        """Submit a job that counts steps, or another command; its grace is short."""
        folder = self.home / "work" / name
        folder.mkdir(parents=True)
        for each in steer:
            (folder / each).touch()
        place = ("--on", on) if on else ("--type", "v4-16", "--zone", ZONE)
        command = command or ("python", str(STEPS), str(folder))
        words = ("run", "--name", name, *place, "--grace-s", "2", *flags, "--", *command)
        found = re.match(r"job (\d+) ", self.tpuctl(*words))
        assert found is not None, "the CLI says the number of the job"
        return Work(self, found[1], folder)

    @property
    def emulators(self) -> Mapping[Kind, Emulator]:
        """Google's emulators, where this installation stands on them."""
        return emulators.find(self.home / "emulators")

    def start_runner(self) -> int:
        """Start the local runner; return its process id once it is up."""
        return local_runner.start(self.home, self.url).pid

    def creates(self, prefix: str = "") -> int:
        """Count the queued resources that were ever granted: a repeated request grants nothing."""
        found = [
            re.search(rf"queuedResourceId=({prefix}[^&]*)", call["path"])
            for call in self.calls()
            if (call["http_method"], call["status"]) == ("POST", OK)
        ]
        return len({each[1] for each in found if each is not None})

    def calls(self) -> list[Mapping[str, Any]]:
        """All calls to the Cloud TPU API so far."""
        log = self.admin.get("calls")
        assert 0 == log["forgotten"], "no call is forgotten"
        calls = log["calls"]
        assert isinstance(calls, list), "the log of calls is a list"
        return calls


@dataclass(frozen=True, slots=True)
class Work:
    """One job: what is known of it, what it did, and what can be done to it."""

    installation: Installation
    number: str
    folder: Path

    # What the control plane knows.

    @property
    def view(self) -> JobView:
        """All documents of the job, as ``tpuctl show`` reads them."""
        opened = self.installation.opened
        return read_view(opened.store, find_job(opened, self.number))

    @property
    def job(self) -> Job:
        """The job's document."""
        return self.view.job

    @property
    def slice(self) -> Slice:
        """The document of the job's slice."""
        found = self.view.slice
        assert found is not None, "a job that was accepted has a slice"
        return found

    @property
    def attempts(self) -> list[Attempt]:
        """All attempts, by number."""
        return list(self.view.attempts)

    @property
    def writer(self) -> Writer:
        """The newest attempt that was allowed to write."""
        writer = self.job.writer
        assert writer is not None, "a job that started has a writer"
        return writer

    @property
    def node(self) -> str:
        """The node that serves the job now, or will in a moment."""

        def claimed() -> str | None:
            current = self.slice.current
            bid = current.claimed_bid if current else None
            return bid.name if bid else None

        return until(claimed, lambda: f"no node serves job {self.number}")

    def told(self, event: str) -> list[str]:
        """What the timeline says of one kind of event, in order."""
        return [entry.text for entry in self.view.timeline if entry.event == event]

    # What the job did.

    @property
    def diary(self) -> list[Entry]:
        """Everything the job's processes wrote down, on all hosts."""
        path = self.folder / "diary.jsonl"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [Entry(**json.loads(line)) for line in lines]

    def entries(self, attempt: int, host: int | None = None, what: str = "") -> list[Entry]:
        """What one attempt wrote down, on one host or on all."""
        return [
            entry
            for entry in self.diary
            if entry.attempt == attempt
            and (host is None or entry.host == host)
            and what in {"", entry.what}
        ]

    # Waiting and acting.

    def steer(self, *names: str) -> None:
        """Put files into the job's folder that tell its processes what to do."""
        for name in names:
            (self.folder / name).touch()

    def until(self, stage: str) -> Job:
        """Wait until the job stands at a stage."""
        return until(
            lambda: job if (job := self.job).stage == stage else None,
            lambda: f"job {self.number} is {self.job.stage}, not {stage}: {self.job.summary}",
        )

    def until_saved(self, attempt: int, steps: int = 3) -> None:
        """Wait until an attempt has done some steps on both hosts and its save is known."""

        def has_saved() -> bool:
            newest = self.attempts[-1] if self.attempts else None
            saved = newest.checkpoint_step if newest and newest.number == attempt else None
            done = [len(self.entries(attempt, host, "step")) >= steps for host in range(2)]
            begun = newest.start_step or 0 if newest else 0
            return all(done) and saved is not None and saved > begun

        until(has_saved, lambda: f"attempt {attempt} saves nothing; {self.job.summary}")

    def finish(self) -> Job:
        """Let the job finish and wait until it has succeeded."""
        self.steer("finish")
        return self.until("succeeded")

    def pids(self, host: int, program: str = "") -> list[int]:
        """Find the processes of a program (the workload's) on one host, by the host's tree."""
        wanted = program or str(STEPS)
        below = processes.descendants(self.machine(host))
        return [pid for pid in below if wanted in command_line(pid)]

    def machine(self, host: int) -> int:
        """Return the first process of a host."""
        hosts = self.installation.admin.get("status")["hosts"]
        assert isinstance(hosts, list), "hosts are a list"
        wanted = self.host_name(host)
        return next(int(each["pid"]) for each in hosts if each["name"] == wanted)

    def host_name(self, host: int) -> str:
        """Name a host as the sandbox does."""
        return f"{self.node}-w-{host}"


@contextmanager
def running(
    home: Path, *, policy: Mapping[str, float] | None = None, **cloud: object
) -> Iterator[Installation]:
    """Run an installation for the time of a block."""
    home.mkdir(parents=True)
    lines = [f"{key} = {value}" for key, value in (policy or {}).items()]
    (home / "settings.toml").write_text("\n".join(["[policy]", *lines]), "utf-8")
    sandbox = home / "sandbox"
    info = control.start(sandbox, settings={**QUICK, **cloud}, bus=home / "state.db")
    try:
        installation = Installation(home, info.url)
        installation.start_runner()
        yield installation
    finally:
        local_runner.stop(home)
        if control.find(sandbox):
            control.stop(sandbox)


@contextmanager
def running_google(
    home: Path, *, policy: Mapping[str, float] | None = None, **cloud: object
) -> Iterator[Installation]:
    """Run an installation in the google wiring, over the emulators, for the time of a block."""
    with environment_kept():
        try:
            emulated.up(home, cloud={**QUICK, **cloud}, policy=policy)
            yield Installation(home, os.environ[CLOUD_VARIABLE], _named())
        finally:
            emulated.down(home)


@contextmanager
def environment_kept() -> Iterator[None]:
    """Undo at the end what a block tells this process and its children of emulators."""
    before = _named()
    try:
        yield
    finally:
        for key in _named():
            del os.environ[key]
        os.environ.update(before)


def _named() -> dict[str, str]:
    names = ("TPUCTL_", "FIRESTORE_", "PUBSUB_")
    return {key: value for key, value in os.environ.items() if key.startswith(names)}


def until(
    probe: Callable[[], T | None],
    what: Callable[[], str] = lambda: "it",
    *,
    patience_s: float = PATIENCE_S,
    every_s: float = _PAUSE_S,
) -> T:
    """Return the first thing that the probe finds; give up after a while and say what is."""
    deadline = time.monotonic() + patience_s
    pause = threading.Event()
    while not (found := probe()):
        assert time.monotonic() < deadline, f"not within {patience_s:.0f} s: {what()}"
        pause.wait(every_s)
    return found


def alive(pids: list[int]) -> list[int]:
    """Return which of these processes live."""
    return [pid for pid in pids if processes.start_time(pid)]


def assert_never_two(work: Work) -> None:
    """Prove from the diary alone that no two attempts of a job ever lived at the same time."""
    numbers = sorted({entry.attempt for entry in work.diary})
    assert len(numbers) > 1, "one attempt alone proves nothing"
    for older, newer in pairwise(numbers):
        last = max(entry.at for entry in work.entries(older))
        first = min(entry.at for entry in work.entries(newer))
        assert last < first, f"attempt {older} wrote after attempt {newer} had started"


def command_line(pid: int) -> str:
    """Return a process's command, empty for one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
