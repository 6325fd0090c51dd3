"""How long 64 hosts and two slices of 4 hosts take to boot in the sandbox, and their memory."""

from __future__ import annotations

import json
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox import control, processes
from tests.sandboxes import QUICK

TARGET_S = 30.0
TARGET_MIB = 2048.0
PATIENCE_S = 180.0
ZONE = "us-central2-b"
PARENT = f"projects/sandbox/locations/{ZONE}"
# Says that it is up, and stays as a program does.
SCRIPT = 'touch "$HOME/up"; exec sleep 3600'
_LOOK_AGAIN_S = 0.02


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked for."""

    name: str
    accelerator_type: str
    slices: int
    hosts: int


@dataclass(frozen=True, slots=True)
class Found:
    """What it took: seconds until all startup scripts ran and until all is gone, MiB in all."""

    boot_s: float
    gone_s: float
    memory_mib: float


CASES = (
    Case("v4-512, 64 hosts", "v4-512", 1, 64),
    Case("2 slices of v4-32, 8 hosts", "v4-32", 2, 8),
)


def main() -> int:
    """Print the table; fail when a target is missed."""
    with sandbox() as home:
        empty_mib = memory_mib(home)
        found = {case: measure(home, case) for case in CASES}
    print(f"the sandbox by itself: {empty_mib:.0f} MiB")
    print("with its own delays at 0     boot s   gone s    MiB   MiB a host")
    for case, took in found.items():
        each = (took.memory_mib - empty_mib) / case.hosts
        figures = f"{took.boot_s:>8.1f} {took.gone_s:>8.1f} {took.memory_mib:>6.0f} {each:>12.1f}"
        print(f"{case.name:<26} {figures}")
    is_missed = any(
        took.boot_s > TARGET_S or took.memory_mib > TARGET_MIB for took in found.values()
    )
    print(f"target: {TARGET_S:.0f} s, {TARGET_MIB:.0f} MiB{': missed' if is_missed else ''}")
    return int(is_missed)


@contextmanager
def sandbox() -> Iterator[Path]:
    """Run a sandbox without delays of its own for the time of a block."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        control.start(home, settings=dict.fromkeys(QUICK, 0.0))
        try:
            yield home
        finally:
            control.stop(home)


def measure(home: Path, case: Case) -> Found:
    """Boot what a case asks for, and delete it again."""
    begun = time.perf_counter()
    create(home, case)
    until(lambda: len(list((home / "hosts").glob("*/home/up"))) == case.hosts)
    booted = time.perf_counter()
    used_mib = memory_mib(home)
    deleted = time.perf_counter()
    call(home, "DELETE", "/bench?force=true")
    until(lambda: not control.status(home)["queuedResources"])
    return Found(booted - begun, time.perf_counter() - deleted, used_mib)


def create(home: Path, case: Case) -> None:
    """Ask for the slices."""
    spec: dict[str, object] = {
        "parent": PARENT,
        "node": {
            "acceleratorType": case.accelerator_type,
            "runtimeVersion": "tpu-ubuntu2204-base",
            "metadata": {"startup-script": SCRIPT},
        },
    }
    if case.slices == 1:
        spec["nodeId"] = "bench"
    else:
        spec["multisliceParams"] = {"nodeCount": case.slices}
    call(
        home,
        "POST",
        "?queuedResourceId=bench",
        {"spot": {}, "tpu": {"nodeSpec": [spec]}},
    )


def call(home: Path, method: str, path: str, body: object = None) -> None:
    """Call the API as any client does."""
    request = urllib.request.Request(
        f"{control.require(home).url}/v2/{PARENT}/queuedResources{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S):
        pass


def until(look: Callable[[], bool]) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not look():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(_LOOK_AGAIN_S)


def memory_mib(home: Path) -> float:
    """Return the memory of a sandbox and all its hosts; what they share counts once (Linux)."""
    pid = control.require(home).pid
    return sum(_pss_kib(each) for each in (pid, *processes.descendants(pid))) / 1024


def _pss_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
