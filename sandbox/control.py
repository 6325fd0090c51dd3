"""Start, stop and steer a sandbox from outside.  Standard library only: the CLI starts fast."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sandbox import background

_PROJECT = Path(__file__).resolve().parent.parent
_START_S = 30.0
_STOP_S = 15.0
_CALL_S = 30.0


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
    # Where Google's client library finds it (``host:port``).
    grpc: str = ""
    # Where its hosts are reached by ssh; 0: they are not.
    ssh_port: int = 0


def start(
    home: Path,
    *,
    port: int = 0,
    settings: Mapping[str, object] | None = None,
    bus: Path | None = None,
    pubsub: str = "",
    has_ssh: bool = False,
) -> SandboxInfo:
    """Start a sandbox in the background and wait until it answers.

    What its hosts publish goes to the bus of a state file, or to a Pub/Sub emulator
    (``host:port``).

    Raises AlreadyUpError, or StartError with the reason the sandbox gave.
    """
    if find(home):
        raise AlreadyUpError(f"the sandbox of {home} is up already")
    home.mkdir(parents=True, exist_ok=True)
    (home / "sandbox.json").unlink(missing_ok=True)
    arguments = ["--home", str(home), "--port", str(port)]
    if settings:
        arguments += ["--config", str(_write_settings(home, settings))]
    arguments += ["--bus", str(bus)] if bus else []
    arguments += ["--pubsub", pubsub] if pubsub else []
    arguments += ["--ssh"] if has_ssh else []
    command = [sys.executable, "-m", "sandbox", *arguments]
    launch = background.spawn(command, home / "sandbox.log", cwd=_PROJECT)
    try:
        return background.wait_until_up(
            launch, lambda: _answering(home, launch.process.pid), _START_S
        )
    except background.NotStartedError as error:
        raise StartError(f"the sandbox {error} (log: {launch.log_path})") from None


def find(home: Path) -> SandboxInfo | None:
    """Return the sandbox of a home, if its process is alive."""
    return background.find(home / "sandbox.json", SandboxInfo)


def require(home: Path) -> SandboxInfo:
    """Return the sandbox of a home.  Raises NotUpError."""
    info = find(home)
    if info is None:
        raise NotUpError(f"no sandbox is up in {home}")
    return info


def stop(home: Path) -> SandboxInfo:
    """Stop a sandbox and everything on its hosts.  Raises NotUpError."""
    info = require(home)
    # If it has to be killed, its hosts see it die and end themselves.
    background.stop(info, _STOP_S)
    (home / "sandbox.json").unlink(missing_ok=True)
    return info


def status(home: Path) -> dict[str, object]:
    """Return what there is: queued resources, nodes, hosts, processes."""
    info = require(home)
    told = Client(info.url).get("status")
    return {"url": info.url, "grpc": info.grpc, "ssh_port": info.ssh_port, **told}


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

    def delete(self, path: str) -> dict[str, object]:
        """Call something off: ``scenario``."""
        return self._call("DELETE", path, None)

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


def _write_settings(home: Path, settings: Mapping[str, object]) -> Path:
    path = home / "settings.json"
    path.write_text(json.dumps(settings, indent=2), encoding="utf-8")
    return path


def _answering(home: Path, pid: int) -> SandboxInfo | None:
    """Return the sandbox that was started, once it answers."""
    info = find(home)
    if info is None or info.pid != pid:
        return None
    Client(info.url).get("status")
    return info
