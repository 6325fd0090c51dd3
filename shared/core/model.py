"""Jobs, attempts and slices, as the documents of the Store hold them.

Everything is immutable; a change is a new value made with ``dataclasses.replace``. All times are
the Store's own (the read time of the deciding load), so two of them may be subtracted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from shared.core.causes import Cause
from shared.core.hosts import Checkpoint, Progress
from shared.core.stages import TERMINAL, Stage

NO_ATTEMPT = -1


# --- Jobs ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Writer:
    """The last attempt that was allowed to write, and whether it is known to be dead.

    ``end_sequence`` is the first mandate after the start; ``end_written_at`` the read time of
    the first load that saw it written, ``absent_at`` the first time after it that every trace
    of the bid was missing.
    """

    attempt: int
    slice: str
    slice_uid: str
    generation: int
    bid: str
    boots: Mapping[str, str]
    start_sequence: int
    lease_s: float
    end_sequence: int | None = None
    end_written_at: datetime | None = None
    absent_at: datetime | None = None
    dead: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """A gang that is being ended and was not judged yet."""

    attempt: int
    since: datetime
    why: str
    hang: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """What a job has used of its budgets since the last user's order."""

    preemptions: int = 0
    failures: int = 0
    setups: int = 0
    bad_nodes: int = 0
    echoes: int = 0
    hangs: int = 0
    locks: int = 0


@dataclass(frozen=True, slots=True)
class Job:
    """What a user submitted, and how far it is."""

    id: str
    number: int
    owner: str
    name: str
    spec: Mapping[str, object]
    spec_sha256: str
    created_at: datetime
    slice: str
    slice_uid: str
    stage: Stage = Stage.QUEUED
    stage_since: datetime | None = None
    summary: str = ""
    reason: str = ""
    revision: int = 0
    accelerator_type: str = ""
    zone: str = ""
    attempt: int = NO_ATTEMPT
    run: int = 0
    resumes: int = 0
    from_step: int | None = None
    kill: bool = False
    writer: Writer | None = None
    ending: Ending | None = None
    finishing_since: datetime | None = None
    spent: Spent = field(default_factory=Spent)
    progress: Progress | None = None
    checkpoint: Checkpoint | None = None
    cause: Cause | None = None
    exit_code: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    prepare_since: datetime | None = None
    prepared_at: datetime | None = None
    evidence: str = ""

    @property
    def is_over(self) -> bool:
        """Only a user's resume or rerun leads on from here."""
        return self.stage in TERMINAL

    @property
    def writer_is_dead(self) -> bool:
        """Nothing of an earlier attempt can write any more."""
        return self.writer is None or self.writer.dead != ""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to run the job's command.  Times are the Store's, those of hosts their own."""

    number: int
    job: str
    slice: str
    slice_uid: str
    generation: int
    bid: str
    zone: str
    accelerator_type: str
    spec_sha256: str
    run: int
    resumes: int
    ordered_at: datetime
    requested_at: datetime | None = None
    ready_at: datetime | None = None
    claimed_at: datetime | None = None
    prepared_at: datetime | None = None
    process_at: datetime | None = None
    first_step_at: datetime | None = None
    from_step: int | None = None
    start_step: int | None = None
    last_step: int | None = None
    checkpoint_step: int | None = None
    noticed_at: datetime | None = None
    ended_at: datetime | None = None
    cause: Cause | None = None
    cause_host: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    evidence: str = ""


# --- Slices -------------------------------------------------------------------------------------


class Kind(StrEnum):
    """Who wanted a slice."""

    TEMPORARY = "temporary"
    NAMED = "named"
    ADOPTED = "adopted"


class BidStage(StrEnum):
    """How far the request for a bid is known to have come."""

    INTENDED = "intended"
    REQUESTED = "requested"
    PRESENT = "present"
    GONE = "gone"


class View(StrEnum):
    """What an observation says of a bid."""

    PENDING = "pending"
    READY = "ready"
    LOST = "lost"
    HOST_SILENT = "host_silent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Bid:
    """One queued resource asking for a generation in one zone."""

    id: str
    name: str
    zone: str
    accelerator_type: str
    tier: str
    runtime_version: str
    hosts: int
    intended_at: datetime
    job: str = ""
    stage: BidStage = BidStage.INTENDED
    operation: str = ""
    requested_at: datetime | None = None
    verdict: View = View.PENDING
    lost_cause: Cause | None = None
    state: str = ""
    detail: str = ""
    refused: bool = False
    node_uid: str = ""
    ready_at: datetime | None = None
    booted_at: datetime | None = None
    observed_at: datetime | None = None
    stopped_at: datetime | None = None
    absent_at: datetime | None = None
    absent_again_at: datetime | None = None
    condemned_at: datetime | None = None
    condemned_for: str = ""
    delete_after: datetime | None = None
    deleted_at: datetime | None = None
    gone_at: datetime | None = None

    @property
    def is_condemned(self) -> bool:
        """It shall go, whatever it is."""
        return self.condemned_at is not None


@dataclass(frozen=True, slots=True)
class Mandate:
    """What the agents of one generation are told, and how far the telling has come.

    The object in Cloud Storage is a pure function of this value (``core.mandates.render``).
    """

    sequence: int
    action: str
    reason: str
    ordered_at: datetime
    written: int = 0
    job: str = ""
    attempt: int = NO_ATTEMPT
    spec_sha256: str = ""
    bid: str = ""
    bids: tuple[str, ...] = ()
    boots: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, object] = field(default_factory=dict)
    lease_s: float = 0.0
    grace_s: float = 0.0
    tries: int = 0
    rings: bool = False
    rung: int = 0

    @property
    def is_written(self) -> bool:
        """The stored object says this, or something newer."""
        return self.written >= self.sequence


@dataclass(frozen=True, slots=True)
class Generation:
    """One incarnation of a slice."""

    number: int
    cause: str
    created_at: datetime
    mandate: Mandate
    bids: tuple[Bid, ...] = ()
    claimed: str = ""
    claimed_at: datetime | None = None
    prepared_at: datetime | None = None
    condemned_at: datetime | None = None
    noticed_at: datetime | None = None

    @property
    def is_condemned(self) -> bool:
        """It was lost or released; its mandate is ``end`` for good."""
        return self.condemned_at is not None

    @property
    def claimed_bid(self) -> Bid | None:
        """The one bid that serves the slice, if any."""
        return next((bid for bid in self.bids if self.claimed and bid.id == self.claimed), None)

    def with_bid(self, bid: Bid) -> Generation:
        """Replace the bid of the same id."""
        bids = tuple(bid if old.id == bid.id else old for old in self.bids)
        return replace(self, bids=bids)


@dataclass(frozen=True, slots=True)
class Slice:
    """TPU capacity with a name.

    ``generations`` holds the current one and those that are still being deleted, oldest first.
    ``live`` is false once nothing of it is left in the cloud and nobody wants it any more.
    """

    name: str
    uid: str
    owner: str
    kind: Kind
    accelerator_type: str
    zones: tuple[str, ...]
    tier: str
    runtime_version: str
    hosts: int
    created_at: datetime
    live: bool = True
    wanted: bool = True
    job: str = ""
    held_until: datetime | None = None
    generation: int = 0
    generations: tuple[Generation, ...] = ()
    zone_turn: int = 0
    next_bid_at: datetime | None = None
    due_at: datetime | None = None
    summary: str = ""
    reason: str = ""
    revision: int = 0

    @property
    def current(self) -> Generation | None:
        """The generation that serves, or will; None while none is wanted or it was lost."""
        newest = self.generations[-1] if self.generations else None
        if newest is None or newest.number != self.generation or newest.is_condemned:
            return None
        return newest

    def with_generation(self, generation: Generation) -> Slice:
        """Replace the generation of the same number."""
        kept = tuple(
            generation if old.number == generation.number else old for old in self.generations
        )
        return replace(self, generations=kept)
