"""Google's Firestore and Pub/Sub emulators: start them, find them, stop them.

They run in the background on loopback, each with a log and a note in one folder. What they hold
is in memory: an emulator that died has forgotten everything. Standard library only.
"""

from __future__ import annotations

import fcntl
import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from cli.emulator_jars import Kind, command, java_error
from cli.errors import CliError
from sandbox import background, processes

_START_S: Final = 60.0
_STOP_S: Final = 5.0
_ANSWER_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Emulator:
    """An emulator that was started; ``rules`` is the file of Firestore's rules, if any."""

    pid: int
    started: str
    address: str
    rules: str = ""


def up(
    folder: Path,
    *,
    rules: Path | None = None,
    ports: Mapping[Kind, int] | None = None,
    launcher: Sequence[str] = (),
) -> dict[Kind, Emulator]:
    """Start those that are not up and wait until they answer; return both.

    ``launcher`` is put before the commands. Raises CliError; then none is started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = str(rules.absolute()) if rules else ""
    with _locked(folder):
        alive = find(folder)
        _check_rules(alive, wanted)
        missing = [kind for kind in Kind if kind not in alive]
        # All commands and addresses before the first start: what is wrong leaves nothing half up.
        starts = [
            _Start(
                kind,
                [*launcher, *command(kind)],
                _address(folder, kind, (ports or {}).get(kind, 0)),
                wanted if kind is Kind.FIRESTORE else "",
            )
            for kind in missing
        ]
        _start_all(folder, starts)
        return find(folder)


def down(folder: Path) -> dict[Kind, Emulator]:
    """Stop those that are up; return which they were."""
    if not folder.exists():
        return {}
    with _locked(folder):
        alive = find(folder)
        for kind in Kind:
            if kind in alive:
                background.stop(alive[kind], _STOP_S)
            _note_path(folder, kind).unlink(missing_ok=True)
        return alive


def find(folder: Path) -> dict[Kind, Emulator]:
    """Return those whose processes are alive."""
    found = {kind: background.find(_note_path(folder, kind), Emulator) for kind in Kind}
    return {kind: emulator for kind, emulator in found.items() if emulator}


def problems(folder: Path) -> dict[Kind, str]:
    """Say of each that is not well what is the matter with it."""
    alive, told = find(folder), {}
    for kind in Kind:
        if kind in alive:
            if not _answers(alive[kind].address):
                told[kind] = f"deaf: process {alive[kind].pid} lives but does not answer"
        elif noted := background.read(_note_path(folder, kind), Emulator):
            told[kind] = f"dead: process {noted.pid} is gone, and what it held"
        else:
            told[kind] = "not up"
    return told


def environment(folder: Path) -> dict[str, str]:
    """Return the variables by which Google's libraries find them.  Raises CliError."""
    for kind, problem in problems(folder).items():
        raise CliError(f"{kind.label} is {problem}", next_step="tpuctl emulators up")
    return {kind.variable: emulator.address for kind, emulator in find(folder).items()}


@dataclass(frozen=True, slots=True)
class _Start:
    """What is about to be started."""

    kind: Kind
    command: list[str]
    address: str
    rules: str

    def spawn(self, folder: Path) -> background.Launch:
        """Start it and note it at once: whoever is killed while it waits leaves a note."""
        host, _, port = self.address.rpartition(":")
        rules = [f"--rules={self.rules}"] if self.rules else []
        launch = background.spawn(
            [*self.command, f"--host={host}", f"--port={port}", *rules],
            folder / f"{self.kind}.log",
        )
        pid = launch.process.pid
        emulator = Emulator(pid, processes.start_time(pid) or "", self.address, self.rules)
        _note_path(folder, self.kind).write_text(json.dumps(asdict(emulator)), encoding="utf-8")
        return launch

    def wait(self, launch: background.Launch) -> None:
        """Wait until it answers.  Raises CliError."""
        try:
            background.wait_until_up(launch, lambda: self._is_up(launch), _START_S)
        except background.NotStartedError as error:
            if "UnsupportedClassVersionError" in launch.log:
                raise java_error(f"{self.kind.label} needs a newer Java than this one") from None
            raise CliError(
                f"{self.kind.label} {error}", next_step=f"read {launch.log_path}"
            ) from None

    def _is_up(self, launch: background.Launch) -> bool:
        # The Pub/Sub emulator lives on, deaf, when it cannot have its port.
        if "Exception in thread" in (log := launch.log):
            raise background.NotStartedError(f"could not start: {background.last_line(log)}")
        return _answers(self.address)


def _start_all(folder: Path, starts: Sequence[_Start]) -> None:
    """Start them side by side, all or none."""
    launches: list[background.Launch] = []
    try:
        for start in starts:
            launches.append(start.spawn(folder))  # noqa: PERF401 - those before a failure count
        for start, launch in zip(starts, launches, strict=True):
            start.wait(launch)
    except BaseException:
        for start, launch in zip(starts, launches, strict=False):
            background.cancel(launch)
            _note_path(folder, start.kind).unlink(missing_ok=True)
        raise


def _check_rules(alive: Mapping[Kind, Emulator], wanted: str) -> None:
    if wanted and not Path(wanted).is_file():
        raise CliError(f"{wanted} is no file with rules", next_step="name one after --rules")
    running = alive.get(Kind.FIRESTORE)
    if wanted and running and running.rules != wanted:
        what = f"the rules {running.rules}" if running.rules else "no rules"
        raise CliError(
            f"the Firestore emulator is up with {what}", next_step="tpuctl emulators down"
        )


def _address(folder: Path, kind: Kind, port: int) -> str:
    """Return where to listen: as told, else where it was before it died, else anywhere free."""
    if port:
        if not background.is_free(port):
            raise CliError(f"port {port} is in use", next_step="choose another one, or 0 for any")
        return f"{background.LOOPBACK}:{port}"
    before = background.read(_note_path(folder, kind), Emulator)
    if before and background.is_free(int(before.address.rpartition(":")[2])):
        return before.address
    try:
        (port,) = background.free_ports()
    except OSError as error:
        raise CliError(str(error), next_step="end what listens on so many") from None
    return f"{background.LOOPBACK}:{port}"


def _answers(address: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=_ANSWER_S)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _note_path(folder: Path, kind: Kind) -> Path:
    return folder / f"{kind}.json"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one at a time start or stop."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
