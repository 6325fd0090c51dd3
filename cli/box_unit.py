"""The systemd unit of a box: written, enabled, stopped.  The user's systemd, or root's own."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cli.errors import CliError

# What a box needs to know of the shell that it was started from.
PASSED_ON: Final = (
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HTTPS_PROXY",
    "NO_PROXY",
    "PUBSUB_EMULATOR_HOST",
    "TPUCTL_CLOUD",
)
_ALIVE: Final = frozenset({"initializing", "starting", "running", "degraded", "maintenance"})
_CALL_S: Final = 60.0
_TEMPLATE: Final = """\
[Unit]
Description=tpuctl control plane of {home}
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart={command}
{environment}
{user}Restart=always
RestartSec=2
TimeoutStopSec=15
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
{hardening}
[Install]
WantedBy={target}
"""
# Only the system's own manager can take these rights away.
_SYSTEM_HARDENING: Final = """\
CapabilityBoundingSet=
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=read-only
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=strict
ReadWritePaths={home}
RestrictNamespaces=yes
"""


@dataclass(frozen=True, slots=True)
class Systemd:
    """The manager that may run a box: the system's for root, else the user's."""

    is_system: bool

    def is_running(self) -> bool:
        """Tell whether there is one: containers and small machines have none."""
        try:
            state = self._call("is-system-running").stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            return False
        return state in _ALIVE

    @property
    def folder(self) -> Path:
        """Where units are written."""
        if self.is_system:
            return Path("/etc/systemd/system")
        base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        return Path(base) / "systemd" / "user"

    def install(self, name: str, text: str) -> Path:
        """Write a unit, enable it and start it anew.  Raises CliError."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self._must("daemon-reload")
        self._must("enable", name)
        self._must("restart", name)
        return path

    def remove(self, name: str) -> bool:
        """Stop a unit for good; False when there is none.  Raises CliError."""
        path = self.folder / name
        if not path.exists():
            return False
        self._must("disable", "--now", name)
        path.unlink()
        self._must("daemon-reload")
        return True

    def has(self, name: str) -> bool:
        """Tell whether a unit is written."""
        return (self.folder / name).exists()

    def log_command(self, name: str) -> str:
        """Name the command that shows what a unit wrote."""
        return f"journalctl {'' if self.is_system else '--user '}-u {name}"

    def ends_at_logout(self) -> bool:
        """Tell whether the user's manager ends with the last session."""
        if self.is_system:
            return False
        command = ["loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value"]
        try:
            found = subprocess.run(
                command, capture_output=True, text=True, timeout=_CALL_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return True
        return found.stdout.strip() != "yes"

    def _must(self, *words: str) -> None:
        done = self._call(*words)
        if done.returncode:
            told = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise CliError(
                f"systemctl {words[0]} failed: {told}",
                next_step="mend it, or run it without systemd: tpuctl box up --no-systemd",
            )

    def _call(self, *words: str) -> subprocess.CompletedProcess[str]:
        scope = [] if self.is_system else ["--user"]
        command = ["systemctl", *scope, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=_CALL_S, check=False)


def manager() -> Systemd:
    """Return the manager of whoever calls."""
    return Systemd(is_system=os.geteuid() == 0)


def unit_name(installation: str) -> str:
    """Name the unit of an installation: a machine may have several."""
    return f"tpuctl-box-{installation}.service"


def unit_text(home: Path, systemd: Systemd, environ: Mapping[str, str]) -> str:
    """Write the unit that runs the box of a home."""
    program = Path(sys.executable).with_name("tpuctl")
    given = {"TPUCTL_HOME": str(home)} | {key: environ[key] for key in PASSED_ON if key in environ}
    is_system = systemd.is_system
    return _TEMPLATE.format(
        home=_escaped(str(home)),
        command=f"{_quoted(str(program))} box run",
        environment="\n".join(f"Environment={_quoted(f'{k}={v}')}" for k, v in given.items()),
        user=f"User={_owner(home)}\n" if is_system else "",
        hardening=_SYSTEM_HARDENING.format(home=_quoted(str(home))) if is_system else "",
        target="multi-user.target" if is_system else "default.target",
    )


def _owner(home: Path) -> str:
    """Return whoever the home belongs to: root need not run it."""
    number = home.stat().st_uid if home.exists() else os.geteuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _quoted(text: str) -> str:
    plain = _escaped(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"'


def _escaped(text: str) -> str:
    """Keep systemd from reading a specifier in it."""
    return text.replace("%", "%%")
