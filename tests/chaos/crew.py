"""The users of a chaos run: they keep some jobs going until there were enough of them."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Final, Self

from cli.commands.run import submit
from cli.errors import CliError
from cli.jobs import OVER_STAGES
from cli.orders import new_order
from cli.spec_source import Source
from shared.core.names import run_folder
from shared.core.orders import OrderKind
from shared.core.spec import JobSpec
from shared.errors import ControlPlaneError
from tests.chaos import counting
from tests.chaos.stage import Stage
from tests.installations import Work
from tests.sandboxes import ZONE

# One host, one host, two hosts.
TYPES: Final = ("v4-8", "v4-8", "v4-16")
HOSTS: Final[Mapping[str, int]] = {"v4-8": 1, "v4-16": 2}
PAUSE_S: Final = 0.1
# Every other one is slow to go: its next slice is ready long before it is dead.
LINGERS_S: Final = (12.0, 0.0)
GRACE_S: Final = 15.0
LOOK_S: Final = 0.5
# Chaos kills more often than any budget allows for; what a program does wrong is no part of it.
ON: Final[Mapping[str, str]] = dict.fromkeys(("error", "oom", "setup", "hang"), "resume:1000") | {
    "bad_node": "recreate:1000"
}
_FOR_GOOD: Final = frozenset({"succeeded", "failed"})
UNANSWERED: Final = "the order may still be carried out"


@dataclass(frozen=True, slots=True)
class Task:
    """One job that is to be run; its output is a function of it."""

    name: str
    accelerator_type: str
    steps: int
    linger_s: float = 0.0

    @property
    def hosts(self) -> int:
        """How many hosts count."""
        return HOSTS[self.accelerator_type]

    def arguments(self, folder: Path, pause_s: float = PAUSE_S) -> tuple[str, ...]:
        """Return the program and its arguments."""
        numbers = (self.steps, pause_s, self.linger_s)
        return (counting.__file__, str(folder), self.name, *map(str, numbers))

    def spec(self, folder: Path) -> JobSpec:
        """Write the job as a user does."""
        flags = {
            "name": self.name,
            "command": ["python", *self.arguments(folder)],
            "accelerator_type": self.accelerator_type,
            "zones": [ZONE],
            "grace_s": GRACE_S,
            "hold_s": 0.0,
            "on": ON,
        }
        return Source(flags, {}).spec()

    def undisturbed(self, folder: Path) -> bytes:
        """Run it where nothing goes wrong; return its output.  ``folder`` is made."""
        folder.mkdir(parents=True)
        places = {"CHECKPOINT": folder / "checkpoints", "OUTPUT": folder / "output"}
        environ = {f"TPUCTL_{key}_DIR": str(path) for key, path in places.items()}
        command = [sys.executable, *self.arguments(folder, pause_s=0.0)]
        numbers = {"TPUCTL_HOST": "0", "TPUCTL_ATTEMPT": "0"}
        subprocess.run(
            command, env={**environ, **numbers}, check=True, timeout=60, stdout=subprocess.DEVNULL
        )
        return (folder / "output" / "result-0.txt").read_bytes()


@dataclass
class Crew:
    """Keep ``at_once`` jobs going as long as chaos lasts, and until there were enough."""

    stage: Stage
    source: Iterator[Task]
    enough: int
    at_once: int
    # Cleared when chaos is over.
    lasts: threading.Event = field(default_factory=threading.Event)
    tasks: list[Task] = field(default_factory=list)
    works: dict[str, Work] = field(default_factory=dict)
    # As last seen: looking takes as long as an emulator is frozen.
    stages: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    # Of whom owners ordered anything, whose owners are at it, and who is to stay stopped.
    ordered: set[str] = field(default_factory=set)
    busy: set[str] = field(default_factory=set)
    stopped: set[str] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin to submit."""
        self.lasts.set()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def over(self) -> list[str]:
        """Those from which only a user's order leads on."""
        # A copy: the users' thread sees more of them meanwhile.
        seen = list(self.stages.items())
        return [name for name, stage in seen if stage in OVER_STAGES and name not in self.busy]

    @property
    def is_done(self) -> bool:
        """There were enough jobs and all are over, or nobody goes on."""
        is_over = self._are_enough and len(self.over) == len(self.tasks)
        return is_over or bool(self.problems)

    @property
    def _are_enough(self) -> bool:
        return len(self.tasks) >= self.enough and not self.lasts.is_set()

    def outputs(self, task: Task) -> list[bytes | None]:
        """Read what a job left as its output, host by host."""
        work = self.works[task.name]
        root = self.stage.settings.outputs_root
        folder = Path(run_folder(root, work.job.id, work.job.run), "output")
        paths = [folder / f"result-{host}.txt" for host in range(task.hosts)]
        return [path.read_bytes() if path.exists() else None for path in paths]

    def _work(self) -> None:
        try:
            self._work_on()
        except BaseException as error:
            self.problems.append(f"the users gave up: {error!r}")
            raise

    def _work_on(self) -> None:
        while not self._stop.wait(LOOK_S) and not self.is_done:
            # An emulator that is frozen answers later.
            with suppress(ControlPlaneError):
                self._look()
                if len(self.works) - len(self.over) < self.at_once and not self._are_enough:
                    self._submit(next(self.source))

    def _look(self) -> None:
        """Look at all but those that nobody can bring back: what was stopped may go on."""
        for name in [name for name in self.works if self.stages.get(name) not in _FOR_GOOD]:
            self.stages[name] = str(self.works[name].job.stage)

    def _submit(self, task: Task) -> None:
        """Submit one; who gets no answer asks again under the same id."""
        self.tasks.append(task)
        folder = self.stage.installation.home / "work" / task.name
        folder.mkdir(parents=True)
        order, spec = new_order(OrderKind.SUBMIT), task.spec(folder)
        while not self._stop.is_set():
            try:
                accepted = submit(self.stage.installation.opened, order, spec, None)
            except ControlPlaneError:
                continue
            except CliError as error:
                if UNANSWERED in str(error):
                    continue
                self.problems.append(f"{task.name} was {error}")
                return
            self.works[task.name] = Work(self.stage.installation, str(accepted.number), folder)
            return


def tasks(seconds: tuple[float, float], chance: Random) -> Iterator[Task]:
    """Make jobs for ever, each of which takes about so long when undisturbed."""
    for number, accelerator_type in enumerate(cycle(TYPES)):
        steps = round(chance.uniform(*seconds) / PAUSE_S)
        yield Task(f"count-{number:02}", accelerator_type, steps, LINGERS_S[number % 2])
