"""Why an attempt ended: the closed list, its ranks, and how a host's end is classified.

The fragments of text were seen in real logs of JAX, libtpu and Orbax; they are matched here and
not on the hosts, so that a better table needs no new agents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from shared.core.hosts import Host, HostAttempt, HostSetup


class Cause(StrEnum):
    """Why an attempt ended, or a slice was lost."""

    SUCCEEDED = "succeeded"
    PREEMPTED = "preempted"
    MAINTENANCE = "maintenance"
    DELETED = "deleted"
    HOST_LOST = "host_lost"
    BAD_NODE = "bad_node"
    REBOOTED = "rebooted"
    OOM = "oom"
    DEVICE_LOCKED = "device_locked"
    SETUP = "setup"
    ERROR = "error"
    HANG = "hang"
    CUT_OFF = "cut_off"
    TRANSPORT = "transport"
    DRAINED = "drained"


# Causes that say the slice itself is gone.
SLICE_GONE = frozenset({Cause.PREEMPTED, Cause.MAINTENANCE, Cause.DELETED, Cause.HOST_LOST})

# The order in which ends within one gang explain one another: the first that occurs is the
# cause, what stands behind it is usually its echo.
RANK: tuple[Cause, ...] = (
    Cause.PREEMPTED,
    Cause.MAINTENANCE,
    Cause.DELETED,
    Cause.HOST_LOST,
    Cause.BAD_NODE,
    Cause.REBOOTED,
    Cause.OOM,
    Cause.DEVICE_LOCKED,
    Cause.SETUP,
    Cause.ERROR,
    Cause.CUT_OFF,
    Cause.HANG,
    Cause.TRANSPORT,
    Cause.DRAINED,
    Cause.SUCCEEDED,
)

_TEXTS: tuple[tuple[Cause, tuple[str, ...]], ...] = (
    (
        Cause.DEVICE_LOCKED,
        ("The TPU is already in use", "Device or resource busy", "Could not open any log file"),
    ),
    (Cause.BAD_NODE, ("No accelerator found",)),
    (
        Cause.TRANSPORT,
        (
            "JAX distributed service detected fatal errors",
            "coordination_service.cc",
            "grpc_status:14",
            "Socket closed",
            "heartbeat timeout",
            "Barrier failed because",
            "tasks are unhealthy (stopped sending heartbeats)",
            "Failed to send RPC to coordination service",
            "leader task was preempted/died/restarted unexpectedly",
            "different incarnation",
            "Connection reset by peer",
            "Connection closed by peer",
        ),
    ),
    (Cause.OOM, ("RESOURCE_EXHAUSTED", "Allocation type", "Out of memory")),
)
_SIGKILL = 9
_EXIT_SIGKILL = 137


@dataclass(frozen=True, slots=True)
class Start:
    """What the hosts of a gang were told to run, by which mandate, and in which boots."""

    job: str
    attempt: int
    spec_sha256: str
    sequence: int
    boots: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judged end of an attempt: its cause and the host that explains it."""

    cause: Cause
    host: int | None
    exit_code: int | None
    signal: int | None
    evidence: str


def classify(end: HostAttempt) -> Cause:
    """Say how one host's command ended, judged by that host alone."""
    if end.killed_by == "lease":
        return Cause.CUT_OFF
    if end.killed_by == "supervisor":
        return Cause.TRANSPORT
    if end.killed_by in {"mandate", "notice"}:
        return Cause.DRAINED
    if end.exit_code == 0:
        return Cause.DRAINED if end.told else Cause.SUCCEEDED
    if end.told:
        return Cause.DRAINED
    return _by_text(end)


def judge(hosts: Sequence[Host], start: Start) -> Verdict:
    """Pick the cause of an attempt from the ends of its hosts; the best rank wins."""
    ends: list[tuple[Cause, Host, HostAttempt | HostSetup]] = [
        *((classify(host.attempt), host, host.attempt) for host in hosts if ended(host, start)),
        *((Cause.REBOOTED, host, host.attempt) for host in hosts if rebooted(host, start)),
        *((Cause.SETUP, host, host.setup) for host in hosts if host.setup and failed(host, start)),
    ]
    if not ends:
        return Verdict(Cause.HOST_LOST, None, None, None, "")
    cause, host, end = min(ends, key=lambda end: (RANK.index(end[0]), end[1].host))
    if cause is Cause.SUCCEEDED and any(_told(host, start) for host in hosts):
        cause = Cause.DRAINED
    return Verdict(cause, host.host, end.exit_code, end.signal, end.evidence)


def is_over(host: Host, start: Start) -> bool:
    """Nothing of the attempt will run on this host any more."""
    return ended(host, start) or rebooted(host, start) or failed(host, start)


def ended(host: Host, start: Start) -> bool:
    """The attempt is over on this host."""
    return _belongs(host, start) and host.attempt.ended


def rebooted(host: Host, start: Start) -> bool:
    """This host is not the boot that was told to start."""
    return start.boots.get(str(host.host)) != host.boot


def failed(host: Host, start: Start) -> bool:
    """This host cannot start: an agent that came back had to prepare again, and could not."""
    setup = host.setup
    return (
        setup is not None
        and setup.spec == start.spec_sha256 != host.prepared
        and host.seen_sequence >= start.sequence
        and not has_begun(host, start)
    )


def has_begun(host: Host, start: Start) -> bool:
    """This host runs the attempt, or ran it, or prepares for it once more."""
    is_at_it = host.alive or host.phase == "preparing" or _belongs(host, start)
    return host.seen_sequence >= start.sequence and is_at_it


def _by_text(end: HostAttempt) -> Cause:
    for cause, fragments in _TEXTS:
        if any(fragment in end.evidence for fragment in fragments):
            return cause
    if _SIGKILL == end.signal or _EXIT_SIGKILL == end.exit_code:
        return Cause.OOM
    return Cause.ERROR


def _told(host: Host, start: Start) -> bool:
    return _belongs(host, start) and host.attempt.told


def _belongs(host: Host, start: Start) -> bool:
    return host.attempt.belongs_to(start.job, start.attempt)
