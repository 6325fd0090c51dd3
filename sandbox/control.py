"""Start, stop and steer a sandbox from outside.  Standard library only: the CLI starts fast."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sandbox import processes

_PROJECT = Path(__file__).resolve().parent.parent
_START_S = 30.0
_STOP_S = 15.0
_CALL_S = 30.0
_LOOK_AGAIN_S = 0.02

# The sandboxes that this process started: it is their parent and has to collect them.
_children: dict[int, subprocess.Popen[bytes]] = {}


class ControlError(Exception):
    """Something about the sandbox that a person should read."""


class AlreadyUpError(ControlError):
    """The sandbox of this home is up."""


class NotUpError(ControlError):
    """The sandbox of this home is not up."""


class StartError(ControlError):
    """The sandbox could not start."""


class UnknownNameError(ControlError):
    """The sandbox has no node or host of that name."""


class RefusedError(ControlError):
    """The sandbox refused an order."""


@dataclass(frozen=True, slots=True)
class SandboxInfo:
    """A sandbox that is up."""

    pid: int
    started: str
    url: str


def start(
    home: Path,
    *,
    port: int = 0,
    settings: Mapping[str, object] | None = None,
    bus: Path | None = None,
) -> SandboxInfo:
    """Start a sandbox in the background and wait until it answers.

    Raises AlreadyUpError, or StartError with the reason the sandbox gave.
    """
    if find(home):
        raise AlreadyUpError(f"the sandbox of {home} is up already")
    home.mkdir(parents=True, exist_ok=True)
    (home / "sandbox.json").unlink(missing_ok=True)
    arguments = ["--home", str(home), "--port", str(port)]
    if settings:
        arguments += ["--config", str(_write_settings(home, settings))]
    if bus:
        arguments += ["--bus", str(bus)]
    log_path = home / "sandbox.log"
    begins_at = log_path.stat().st_size if log_path.exists() else 0
    process = _spawn(arguments, log_path)
    _children[process.pid] = process
    try:
        return _wait_until_up(home, process, log_path, begins_at)
    except BaseException:
        # Also on Ctrl-C: a start that was given up leaves nothing behind.
        process.terminate()
        _collect(process.pid)
        raise


def find(home: Path) -> SandboxInfo | None:
    """Return the sandbox of a home, if its process is alive."""
    _collect_dead()
    try:
        info = SandboxInfo(**json.loads((home / "sandbox.json").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return info if processes.start_time(info.pid) == info.started else None


def require(home: Path) -> SandboxInfo:
    """Return the sandbox of a home.  Raises NotUpError."""
    info = find(home)
    if info is None:
        raise NotUpError(f"no sandbox is up in {home}")
    return info


def stop(home: Path) -> SandboxInfo:
    """Stop a sandbox and everything on its hosts.  Raises NotUpError."""
    info = require(home)
    os.kill(info.pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_S
    while processes.start_time(info.pid) == info.started:
        if time.monotonic() > deadline:
            # Its hosts see it die and end themselves.
            os.kill(info.pid, signal.SIGKILL)
        time.sleep(_LOOK_AGAIN_S)
    _collect(info.pid)
    (home / "sandbox.json").unlink(missing_ok=True)
    return info


def status(home: Path) -> dict[str, object]:
    """Return what there is: queued resources, nodes, hosts, processes."""
    info = require(home)
    return {"url": info.url, **Client(info.url).get("status")}


def preempt(
    home: Path,
    node: str,
    *,
    notice: bool = True,
    notice_s: float | None = None,
    hosts: Sequence[int] | None = None,
) -> None:
    """Preempt a node, silently or with a notice first."""
    body: dict[str, object] = {"notice": notice}
    if notice_s is not None:
        body["notice_s"] = notice_s
    if hosts is not None:
        body["hosts"] = list(hosts)
    Client(require(home).url).post(f"nodes/{quote(node, safe='')}:preempt", body)


@dataclass(frozen=True, slots=True)
class Client:
    """A thin client of the sandbox's own API.

    Raises UnknownNameError, RefusedError or NotUpError.
    """

    url: str

    def get(self, path: str) -> dict[str, object]:
        """Read something: ``status``, ``settings``, ``calls``."""
        return self._call("GET", path, None)

    def post(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, object]:
        """Give an order: ``nodes/N:preempt``, ``hosts/H:kill``, ``hosts/H:cut`` …."""
        return self._call("POST", path, body or {})

    def change_settings(self, **settings: object) -> dict[str, object]:
        """Replace some settings, from now on."""
        return self._call("PATCH", "settings", settings)

    def kill_host(self, host: str) -> None:
        """Kill everything on a host at once; its node stays READY."""
        self.post(f"hosts/{host}:kill")

    def reboot_host(self, host: str) -> None:
        """Reboot a host."""
        self.post(f"hosts/{host}:reboot")

    def cut_off(self, host: str, *services: str) -> None:
        """Cut a host off from storage, pubsub, metadata; from none to connect it again."""
        self.post(f"hosts/{host}:cut", {"services": list(services)})

    def _call(self, method: str, path: str, body: Mapping[str, object] | None) -> dict[str, object]:
        # A fifth of a second that only those who call it shall wait for.
        import urllib.error
        import urllib.request

        request = urllib.request.Request(
            f"{self.url}/sandbox/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        # Never through a proxy: the sandbox is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_CALL_S) as answer:
                parsed: dict[str, object] = json.load(answer)
                return parsed
        except urllib.error.HTTPError as error:
            raise _refusal(error.code, error.read()) from None
        except OSError as error:
            raise NotUpError(f"the sandbox at {self.url} does not answer: {error}") from None


def read_settings(path: Path) -> dict[str, object]:
    """Read settings that a user wrote as JSON.  Raises StartError."""
    try:
        values = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise StartError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise StartError(f"{path} is not JSON: {error}") from None
    if not isinstance(values, dict):
        raise StartError(f"{path}: expected an object of settings")
    return values


def _refusal(code: int, body: bytes) -> ControlError:
    """Turn an error of the sandbox into one with its sentence."""
    try:
        message = str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = f"the sandbox answered {code}"
    return UnknownNameError(message) if code == 404 else RefusedError(message)  # noqa: PLR2004


def _spawn(arguments: list[str], log_path: Path) -> subprocess.Popen[bytes]:
    """Start the sandbox's process, out of reach of this terminal's Ctrl-C."""
    with log_path.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "sandbox", *arguments],
            cwd=_PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _collect(pid: int) -> None:
    if process := _children.pop(pid, None):
        process.wait()


def _collect_dead() -> None:
    for pid in [pid for pid, process in _children.items() if process.poll() is not None]:
        _collect(pid)


def _write_settings(home: Path, settings: Mapping[str, object]) -> Path:
    path = home / "settings.json"
    path.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return path


def _wait_until_up(
    home: Path, process: subprocess.Popen[bytes], log_path: Path, begins_at: int
) -> SandboxInfo:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        info = find(home)
        if info and info.pid == process.pid:
            Client(info.url).get("status")
            return info
        if process.poll() is not None:
            raise StartError(_last_error(log_path, begins_at))
        time.sleep(_LOOK_AGAIN_S)
    raise StartError(f"the sandbox did not answer within {_START_S:.0f} s; see {log_path}")


def _last_error(log_path: Path, begins_at: int) -> str:
    """Return the line with which the sandbox gave up."""
    with log_path.open("rb") as log:
        log.seek(begins_at)
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
    reason = lines[-1].removeprefix("error: ") if lines else "no reason given"
    return f"the sandbox could not start: {reason} (log: {log_path})"
