"""What one host last said about itself: the snapshot of docs/protocol.md §6, parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class HostAttempt:
    """The newest attempt a host knows; ``number`` -1 when it knows none."""

    job: str = ""
    number: int = -1
    started_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    killed_by: str = ""
    told: bool = False
    evidence: str = ""
    first_step_at: datetime | None = None
    flushed: bool = False

    @property
    def ended(self) -> bool:
        """The command is over on this host; nobody saw when, if its agent died before it."""
        return self.ended_at is not None or self.killed_by != ""

    @property
    def is_clean(self) -> bool:
        """It succeeded, of its own accord."""
        return self.ended and self.exit_code == 0 and not self.told and not self.killed_by

    def belongs_to(self, job: str, number: int) -> bool:
        """It is that attempt of that job: numbers alone repeat between jobs."""
        return (self.job, self.number) == (job, number)


@dataclass(frozen=True, slots=True)
class HostSetup:
    """A preparation that failed."""

    spec: str = ""
    exit_code: int | None = None
    signal: int | None = None
    evidence: str = ""
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the workload says it is."""

    step: int
    total: int | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The newest complete checkpoint."""

    step: int
    path: str


@dataclass(frozen=True, slots=True)
class Host:
    """One host of one bid, as it was when it last spoke.

    ``received_at`` is the store's time of the snapshot's arrival, ``published_at`` the bus's;
    ``at`` is the host's own clock and is never compared with anything. ``wakes`` is the topic
    on which the snapshot's news were to be told, "" if it was none.
    """

    slice: str
    slice_uid: str
    generation: int
    bid: str
    node: str
    host: int
    hosts: int
    hostname: str
    boot: str
    sequence: int
    at: datetime
    seen_sequence: int
    phase: str
    alive: bool
    prepared: str | None = None
    setup: HostSetup | None = None
    attempt: HostAttempt = HostAttempt()
    progress: Progress | None = None
    checkpoint: Checkpoint | None = None
    notice: str = ""
    problem: str = ""
    published_at: datetime | None = None
    received_at: datetime | None = None
    wakes: str = ""

    @property
    def key(self) -> str:
        """The last segment of the document's path."""
        return host_key(self.generation, self.bid, self.host)

    def acknowledges(self, sequence: int) -> bool:
        """Nothing runs here, and the host knows the mandate that ended it."""
        return self.seen_sequence >= sequence and not self.alive

    def replaces(self, other: Host) -> bool:
        """Order snapshots: by sequence within a boot, by publish time between boots."""
        if self.boot == other.boot:
            return self.sequence > other.sequence
        if self.published_at is None or other.published_at is None:
            return True
        return self.published_at > other.published_at


def host_key(generation: int, bid: str, host: int) -> str:
    """Name the document of one host."""
    return f"g{generation}-b{bid}-{host}"
