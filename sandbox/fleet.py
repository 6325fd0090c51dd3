"""Makes real processes match the hosts that the simulated cloud says are running.

Level-triggered: it compares what should run with what runs, so a missed change is caught up
with the next one. Every boot of a host is one ``sandbox.machine`` process with its own
session, directory and metadata server.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sandbox import metadata, processes
from sandbox.machine import REBOOT
from sandbox.memory import MIB, MemoryWatch
from sandbox.metadata_server import MetadataServer
from sandbox.resources import Host, Power

if TYPE_CHECKING:
    from sandbox.cloud import Cloud
    from sandbox.identity import Identity
    from sandbox.settings import Settings
    from sandbox.sshd import Doors

# A machine ends all of its processes within milliseconds; one that does not is broken.
_POWER_OFF_S = 5.0
_PROJECT = Path(__file__).resolve().parent.parent
# Where Python finds what turns its clock, before anything else runs.
_SKEWED = Path(__file__).resolve().parent / "skewed"
SKEW_VARIABLE = "SANDBOX_CLOCK_SKEW_S"


@dataclass(frozen=True, slots=True)
class Machine:
    """One running boot of a host."""

    host: str
    boot_id: str
    process: subprocess.Popen[bytes]

    @property
    def wants_reboot(self) -> bool:
        """It ended because something on the host ordered a reboot."""
        return self.process.returncode == REBOOT


@dataclass(frozen=True, slots=True)
class Outside:
    """What hosts know of the outside: variables, the project's metadata, a door to them."""

    emulators: Mapping[str, str]
    shared: Callable[[], Mapping[str, str]]
    doors: Doors | None = None


class Owner(Protocol):
    """Whom a fleet tells what happens on its hosts; called from any thread."""

    def machine_ended(self, machine: Machine) -> None:
        """Learn that a machine has exited."""

    def write_guest_attribute(self, host: str, name: str, value: str | None) -> None:
        """Learn what a host says of itself."""


class Fleet:
    """All machines and metadata servers.  Not thread-safe: its owner holds a lock.

    ``boot`` may be called only from a thread that lives as long as the sandbox: Linux tells
    a machine of its parent's death when the *thread* that started it ends.
    """

    def __init__(
        self,
        directory: Path,
        identity: Identity,
        *,
        outside: Outside,
        owner: Owner,
        kept: Collection[str] = (),
    ) -> None:
        """Take over a directory: of the hosts that are ``kept``, the disks stay."""
        self._directory = directory
        self._identity = identity
        self._outside = outside
        self._owner = owner
        self._machines: dict[str, Machine] = {}
        self._servers: dict[str, MetadataServer] = {}
        self._shown: dict[str, tuple[object, ...]] = {}
        # None is left where the sandbox before this one was killed, unless its hosts were, too.
        processes.end_strays(f"TPUCTL_ROOT={directory}{os.sep}")
        for left in directory.iterdir() if directory.exists() else ():
            if left.name not in kept:
                self._discard(left.name)
        self._kept = set(kept)
        self._boots = 0
        self._memory = MemoryWatch()
        processes.adopt_orphans()

    def pid_of(self, host: str) -> int | None:
        """Return the process id of a host's first process, if it runs."""
        machine = self._machines.get(host)
        return machine.process.pid if machine else None

    def directory_of(self, host: str) -> Path:
        """Return where a host's disk is."""
        return self._directory / host

    def settle(self, cloud: Cloud) -> None:
        """End what should not run and show every host its metadata.

        When it returns, the processes of hosts that are gone or dead are dead.
        """
        running = {
            (host.name, host.boot_id) for host in cloud.hosts.values() if host.power is Power.ON
        }
        self._power_off([m for m in self._machines.values() if (m.host, m.boot_id) not in running])
        for name in [name for name in self._servers if name not in cloud.hosts]:
            self._servers.pop(name).close()
            del self._shown[name]
            self._discard(name)
        for host in cloud.hosts.values():
            self._publish(host, cloud)
            if self._outside.doors:
                self._outside.doors.admit(self.directory_of(host.name), host)

    def boot(self, cloud: Cloud) -> None:
        """Start every host that should run and does not."""
        for host in cloud.hosts.values():
            if host.power is Power.ON and host.name not in self._machines:
                self._start(host, cloud.settings)

    def close(self) -> None:
        """End all machines and stop all metadata servers."""
        self._power_off(list(self._machines.values()))
        self._memory.close()
        for server in self._servers.values():
            server.close()
        self._servers.clear()

    def forget(self, machine: Machine) -> bool:
        """Take note of an exit; return whether it was one that nobody had ordered.

        What a machine that was itself killed leaves behind has become our children.
        """
        if self._machines.get(machine.host) is not machine:
            return False
        self._drop(machine)
        self._end_orphans()
        return True

    def _drop(self, machine: Machine) -> None:
        del self._machines[machine.host]
        self._memory.remove(machine.process.pid)

    def _start(self, host: Host, settings: Settings) -> None:
        directory = self.directory_of(host.name)
        shutil.rmtree(directory / "tmp", ignore_errors=True)
        for part in ("home", "opt", "tmp"):
            (directory / part).mkdir(parents=True, exist_ok=True)
        if self._outside.doors:
            self._outside.doors.build(directory, host, self._environment(host))
        else:
            # Of an earlier sandbox that had doors.
            (directory / "ssh" / "sshd").unlink(missing_ok=True)
        with (directory / "console.log").open("ab") as console:
            console.write(f"--- boot {host.boot_id} of {host.name} ---\n".encode())
            console.flush()
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "sandbox.machine", str(directory)),
                    f"--sandbox={os.getpid()}",
                    f"--cores={settings.host_cores}",
                    f"--seat={self._boots}",
                ],
                cwd=_PROJECT,
                env=self._environment(host),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._boots += 1
        self._memory.add(process.pid, settings.host_memory_mib * MIB, directory / "console.log")
        machine = self._machines[host.name] = Machine(host.name, host.boot_id, process)
        threading.Thread(target=self._watch, args=(machine,), daemon=True).start()

    def _watch(self, machine: Machine) -> None:
        machine.process.wait()
        self._owner.machine_ended(machine)

    def _environment(self, host: Host) -> dict[str, str]:
        """Return what a process on the host sees: a VM's environment, and the emulators."""
        directory = self.directory_of(host.name)
        metadata_address = self._servers[host.name].address
        python = Path(sys.executable).parent
        return {
            **self._outside.emulators,
            "GCE_METADATA_HOST": metadata_address,
            "GCE_METADATA_IP": metadata_address,
            "HOME": str(directory / "home"),
            "LANG": "C.UTF-8",
            "PATH": f"{python}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "TMPDIR": str(directory / "tmp"),
            # All hosts share one kernel, and so its boot id.
            "TPUCTL_BOOT_ID": host.boot_id,
            "TPUCTL_ROOT": str(directory / "opt"),
            **_skewed(host),
        }

    def _power_off(self, machines: list[Machine]) -> None:
        """End several machines at the same instant and wait until all are gone."""
        if not machines:
            return
        processes.freeze_descendants(*(machine.process.pid for machine in machines))
        for machine in machines:
            self._drop(machine)
            machine.process.terminate()
        for machine in machines:
            try:
                machine.process.wait(_POWER_OFF_S)
            except subprocess.TimeoutExpired:
                machine.process.kill()
                machine.process.wait()
        if any(machine.process.returncode for machine in machines):
            self._end_orphans()

    def _end_orphans(self) -> None:
        ours = {machine.process.pid for machine in self._machines.values()}
        for pid in processes.end_descendants(os.getpid(), spare=ours):
            processes.reap_one(pid)

    def _publish(self, host: Host, cloud: Cloud) -> None:
        if host.name not in self._servers:
            self._servers[host.name] = MetadataServer(
                host.name, self._identity, self._owner.write_guest_attribute
            )
            if host.name not in self._kept:
                self._discard(host.name)
            self._kept.discard(host.name)
        node = cloud.nodes[host.node]
        slices, shared = metadata.slices_of(cloud, node), self._outside.shared()
        if self._shown.get(host.name) == (host, node, slices, shared):
            return
        self._shown[host.name] = (host, node, slices, shared)
        endpoints = metadata.endpoints_of([cloud.hosts[name] for name in node.hosts])
        tree = metadata.tree_of(host, node, endpoints, slices, shared)
        self._servers[host.name].publish(tree, is_cut="metadata" in host.cut)

    def _discard(self, host: str) -> None:
        """Throw a host's disk away; what it wrote to the console stays to be read."""
        for part in ("home", "opt", "ssh", "tmp"):
            shutil.rmtree(self.directory_of(host) / part, ignore_errors=True)


def _skewed(host: Host) -> dict[str, str]:
    """Return what makes the clock of a host's Python programs go wrong, if it shall."""
    if not host.clock_skew_s:
        return {}
    return {SKEW_VARIABLE: str(host.clock_skew_s), "PYTHONPATH": str(_SKEWED)}
