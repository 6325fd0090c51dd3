"""Jobs and attempts, as the documents of the Store hold them; slices are in ``slices``.

Everything is immutable; a change is a new value made with ``dataclasses.replace``. All times are
the Store's own (the read time of the deciding load), so two of them may be subtracted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from shared.core.causes import Cause
from shared.core.hosts import Checkpoint, Progress
from shared.core.stages import TERMINAL, Stage

NO_ATTEMPT = -1


@dataclass(frozen=True, slots=True)
class Writer:
    """The last attempt that was allowed to write, and whether it is known to be dead.

    ``end_sequence`` is the first mandate after the start; ``start_written_at`` and
    ``end_written_at`` are the read times of the first loads that saw the two written,
    ``absent_at`` is the first time after the latter that every trace of the bid was missing.
    """

    attempt: int
    slice: str
    slice_uid: str
    generation: int
    bid: str
    boots: Mapping[str, str]
    start_sequence: int
    lease_s: float
    start_written_at: datetime | None = None
    end_sequence: int | None = None
    end_written_at: datetime | None = None
    absent_at: datetime | None = None
    dead: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """A gang that is being ended and was not judged yet; ``cause`` if its hosts cannot tell it.

    ``is_ordered``: its owner wants it, and the job to go on; no budget pays for that.
    """

    attempt: int
    since: datetime
    why: str
    cause: Cause | None = None
    is_ordered: bool = False


@dataclass(frozen=True, slots=True)
class Revision:
    """One spec that a job was given, and what of it differs from the one before."""

    number: int
    spec_sha256: str
    at: datetime
    by: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedRestore:
    """The step that the last attempts failed to restore, and which attempts, oldest first."""

    step: int
    attempts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """What a job has used of its budgets since the last user's order.

    ``fruitless`` counts the attempts in a row that left nothing newer. ``bounded`` counts by the
    word of the job's own rule, for rules that have a bound of their own.
    """

    preemptions: int = 0
    failures: int = 0
    setups: int = 0
    bad_nodes: int = 0
    echoes: int = 0
    hangs: int = 0
    locks: int = 0
    fruitless: int = 0
    bounded: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """What a user submitted, and how far it is.

    ``again_at`` is when its owner last had it go on, ``stuck_since`` the beginning of the last
    wait that was told as too long. ``folder`` is the one of its slice, in the bucket.
    ``steps`` are the newest complete checkpoints that were seen in this run, ascending.
    ``from_step`` is the one that its owner chose, until a newer one than those there is complete.
    ``revisions`` are the specs that it was given, oldest first; the first one is not listed.
    """

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
    again_at: datetime | None = None
    stuck_since: datetime | None = None
    owner_email: str = ""
    owner_subject: str = ""
    folder: str = ""
    steps: tuple[int, ...] = ()
    failed_restore: FailedRestore | None = None
    revisions: tuple[Revision, ...] = ()

    @property
    def earlier_step(self) -> int | None:
        """The newest step that is known to be complete, before the one that was not restored."""
        failed = self.failed_restore
        if failed is None:
            return None
        return max((step for step in self.steps if step < failed.step), default=None)

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
    """One try to run the job's command.  Times are the Store's, those of hosts their own.

    ``known_step`` is the newest checkpoint that was known at the start, ``start_step`` the one
    that was then found.
    """

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
    known_step: int | None = None
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
