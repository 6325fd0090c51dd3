"""Start, find and stop the local runner's process.  Standard library only: ``ps`` asks too."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.errors import CliError
from sandbox import background

_PROJECT: Final = Path(__file__).resolve().parent.parent
_START_S: Final = 60.0
_STOP_S: Final = 8.0
# ``functions.ticks`` says what it does there.
POKE: Final = signal.SIGUSR1


@dataclass(frozen=True, slots=True)
class Program:
    """What runs in the background: its module, its note and its log, under one name.

    ``label`` is what people call it, ``up`` the command that starts it.
    """

    name: str
    module: str
    label: str = "the local runner"
    up: str = "tpuctl local up"

    @property
    def log_name(self) -> str:
        """The file that it writes to."""
        return f"{self.name}.log"

    def note(self, home: Path) -> Path:
        """The file that says who it is."""
        return home / f"{self.name}.json"


# The use cases in one process, and the functions as they are deployed.
RUNNER: Final = Program("runner", "functions.runner")
SERVED: Final = Program("served", "functions.served", "the stand-in for Cloud Scheduler")
# The same process as the runner, on a machine that is always on.
BOX: Final = Program("runner", "functions.runner", "the box", "tpuctl box up")
LOG_NAME: Final = RUNNER.log_name


@dataclass(frozen=True, slots=True)
class RunnerInfo:
    """A runner that is up, and the cloud it works on."""

    pid: int
    started: str
    endpoint: str


def find(home: Path, program: Program = RUNNER) -> RunnerInfo | None:
    """Return the runner of a home, if its process is alive."""
    return background.find(program.note(home), RunnerInfo)


def start(home: Path, endpoint: str, program: Program = RUNNER) -> RunnerInfo:
    """Start a runner in the background and wait until it serves, or say why it does not."""
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", program.module, "--home", str(home), "--endpoint", endpoint]
    launch = background.spawn(command, home / program.log_name, cwd=_PROJECT)

    def serving() -> RunnerInfo | None:
        info = find(home, program)
        return info if info and info.pid == launch.process.pid else None

    try:
        return background.wait_until_up(launch, serving, _START_S)
    except background.NotStartedError as error:
        raise CliError(
            f"{program.label} {error}", next_step=f"read {launch.log_path}, then: {program.up}"
        ) from None


def poke(info: RunnerInfo) -> None:
    """Make a process begin its next tick now.  Raises CliError when it is another user's."""
    try:
        # It may have ended since it was found: whoever waits for the tick will see.
        with contextlib.suppress(ProcessLookupError):
            os.kill(info.pid, POKE)
    except PermissionError:
        raise CliError(
            f"process {info.pid} is another user's", next_step="tpuctl poke, as that user"
        ) from None


def stop(home: Path, program: Program = RUNNER) -> RunnerInfo | None:
    """Stop the runner of a home; return which it was, or None when none is up."""
    info = find(home, program)
    if info is not None:
        # If it has to be killed: it holds nothing that must survive.
        background.stop(info, _STOP_S)
        program.note(home).unlink(missing_ok=True)
    return info
