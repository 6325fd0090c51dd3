"""The doors to hosts: OpenSSH's server, one process of each host, on the host's own address.

It runs as the user of the sandbox and lets in only that user, with the keys that metadata and
OS Login tell.  A session is put where a process of the host is: its home, its environment.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import background
from sandbox.access import own_user
from sandbox.errors import SandboxError

if TYPE_CHECKING:
    from sandbox.access import Access
    from sandbox.resources import Host

SSH_PORT = 22
# Where distributions keep what is on nobody's path.
_SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/sbin", "/opt/homebrew/sbin")
_SFTP_FOLDERS = ("lib/openssh", "libexec/openssh", "libexec", "lib/ssh", "lib64/ssh")
# An address of the hosts' network that no host gets.
_PROBE_ADDRESS = "127.77.255.254"
_MISSING_FOLDER = re.compile(r"Missing privilege separation directory: (/\S+)")
_CALL_S = 10.0
# What a session runs in place of what was asked for: that, at home on the host.
_SESSION = r"""#!/bin/sh
while IFS= read -r line; do export "$line"; done <"${0%/*}/environment"
cd "$HOME" || exit 255
if [ -n "${SSH_ORIGINAL_COMMAND-}" ]; then exec bash -c "$SSH_ORIGINAL_COMMAND"; fi
exec bash
"""


class SshUnavailableError(SandboxError):
    """Why no host can be reached by ssh, and what to do."""


@dataclass(frozen=True, slots=True)
class Doors:
    """Prepares a door for every host, and keeps the list of who may come in."""

    sshd: Path
    port: int
    access: Access
    clock: Callable[[], float]
    user: str = field(default_factory=own_user)
    _admitted: dict[str, list[str]] = field(default_factory=dict)

    def build(self, directory: Path, host: Host, environment: Mapping[str, str]) -> None:
        """Write what a host's machine starts its server with.  The key lasts as long as a host."""
        folder = directory / "ssh"
        folder.mkdir(exist_ok=True)
        make_host_key(folder / "host_key")
        write_session(folder / "session", environment)
        (folder / "sshd_config").write_text(self.config(folder.resolve(), host.ip), "utf-8")
        self.admit(directory, host)
        # The last one: where it is, the machine opens the door.
        (folder / "sshd").unlink(missing_ok=True)
        (folder / "sshd").symlink_to(self.sshd)

    def admit(self, directory: Path, host: Host) -> None:
        """Write who may come in, as the host's metadata and the project say now."""
        keys = self.access.keys_for(self.user, host.attributes, self.clock())
        path = directory / "ssh" / "authorized_keys"
        if self._admitted.get(host.name) == keys and path.exists():
            return
        if path.parent.exists():
            draft = path.with_suffix(".draft")
            draft.write_text("".join(f"{key}\n" for key in keys), "utf-8")
            draft.replace(path)
            self._admitted[host.name] = keys

    def config(self, folder: Path, address: str) -> str:
        """Write the configuration of a server whose files are in a folder."""
        lines = {
            "ListenAddress": f"{address}:{self.port}",
            "HostKey": _quoted(folder / "host_key"),
            "AuthorizedKeysFile": _quoted(folder / "authorized_keys"),
            "AllowUsers": self.user,
            "AuthenticationMethods": "publickey",
            "PermitRootLogin": "prohibit-password",
            # The files are below a folder that may be open to a group: it is the user's affair.
            "StrictModes": "no",
            "ForceCommand": shlex.quote(str(folder / "session")),
            "Subsystem": f"sftp {_sftp_server(self.sshd)}",
            "AcceptEnv": "LANG LC_*",
            "PidFile": "none",
            "PrintMotd": "no",
            "MaxStartups": "100",
            "UseDNS": "no",
        }
        return "".join(f"{key} {value}\n" for key, value in lines.items())


def open_doors(scratch: Path, access: Access, clock: Callable[[], float]) -> Doors:
    """Find OpenSSH and a port, and try them.  Raises SshUnavailableError."""
    if not sys.platform.startswith("linux"):
        raise SshUnavailableError("--ssh needs Linux: only there has every host its own address")
    doors = Doors(find_server(), choose_port(), access, clock)
    scratch.mkdir(parents=True, exist_ok=True)
    make_host_key(scratch / "host_key")
    config = scratch / "sshd_config"
    config.write_text(doors.config(scratch.resolve(), _PROBE_ADDRESS), "utf-8")
    refusal = _refusal(doors.sshd, config)
    if missing := _MISSING_FOLDER.search(refusal):
        # What the system's own service makes when it starts; only root is asked for it.
        Path(missing[1]).mkdir(mode=0o755, parents=True)
        refusal = _refusal(doors.sshd, config)
    if refusal:
        raise SshUnavailableError(f"--ssh: {doors.sshd} cannot run: {refusal}")
    return doors


def find_server() -> Path:
    """Find sshd.  Raises SshUnavailableError."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *_SYSTEM_FOLDERS))
    found = shutil.which("sshd", path=path)
    if found is None:
        raise SshUnavailableError(
            "--ssh needs OpenSSH's server (sshd), which is not installed: "
            "install openssh-server, or leave --ssh out"
        )
    return Path(found).absolute()


def choose_port() -> int:
    """Return 22 if this user may have it on the hosts' addresses, else a free port."""
    with socket.socket() as probe:
        try:
            probe.bind((_PROBE_ADDRESS, SSH_PORT))
        except OSError:
            return background.free_ports()[0]
    return SSH_PORT


def make_host_key(path: Path) -> None:
    """Make a server's key, unless it has one."""
    if not path.exists():
        words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "host", "-f", str(path)]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL, timeout=_CALL_S)


def write_session(path: Path, environment: Mapping[str, str]) -> None:
    """Write what every session runs, and beside it the environment that it takes on."""
    lines = [f"{name}={value}\n" for name, value in environment.items()]
    path.with_name("environment").write_text("".join(lines), "utf-8")
    path.write_text(_SESSION, "utf-8")
    path.chmod(0o700)


def _refusal(sshd: Path, config: Path) -> str:
    """Return why sshd would not start, or ""."""
    done = subprocess.run(
        [str(sshd), "-t", "-f", str(config)],
        check=False,
        capture_output=True,
        text=True,
        timeout=_CALL_S,
    )
    return done.stderr.strip().replace("\n", "; ") if done.returncode else ""


def _sftp_server(sshd: Path) -> str:
    """Return the program that scp speaks to; a missing one leaves ssh itself untouched."""
    roots = (sshd.parent.parent, Path("/usr"))
    for path in (root / folder / "sftp-server" for root in roots for folder in _SFTP_FOLDERS):
        if path.exists():
            return str(path)
    return "/usr/lib/openssh/sftp-server"


def _quoted(path: Path) -> str:
    """Write a path as sshd's configuration wants it."""
    return f'"{path}"'
