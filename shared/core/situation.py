"""Everything a decision may look at: one slice, its job, and what its hosts last said.

Rules are functions from a situation to a situation. What they want remembered beside the
documents (timeline, ledger) is collected on the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared.core.catalog import Catalog
from shared.core.hosts import Host
from shared.core.model import Attempt, Job, Writer
from shared.core.policy import Policy
from shared.core.slices import Bid, Generation, Slice
from shared.core.spec import JobSpec
from shared.core.stages import ON_A_SLICE, Event, Stage, advance

# What people want to hear of a job that has its slice.
_NEWS_ON_A_SLICE = frozenset({Event.ATTEMPT_STARTED, Event.ATTEMPT_RETRIED})


@dataclass(frozen=True, slots=True)
class World:
    """What an installation is, as far as decisions need it."""

    installation: str
    outputs_root: str
    policy: Policy
    catalog: Catalog
    bucket: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence for the timeline; ``public`` events go to ``alerts`` as well.

    ``why`` is the closed word behind it, where there is one: a cause, or why a job ended.
    """

    event: str
    text: str
    public: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """What one bid cost, written when it is gone.  ``chips`` is what it held."""

    id: str
    job: str
    slice: str
    generation: int
    bid: str
    zone: str
    accelerator_type: str
    tier: str
    chips: int
    ready_at: datetime | None
    gone_at: datetime
    usd_per_chip_hour: float | None


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known at ``now``, the Store's read time of the slice.

    ``can_judge_silence`` says that reports have been coming through for long enough to judge
    silence by; ``has_listened`` that whoever says nothing left nothing in storage either.
    """

    slice: Slice
    job: Job | None
    attempts: tuple[Attempt, ...]
    hosts: tuple[Host, ...]
    now: datetime
    world: World
    job_spec: JobSpec | None = None
    can_judge_silence: bool = False
    has_listened: bool = True
    notes: tuple[Note, ...] = ()
    ledger: tuple[LedgerLine, ...] = ()

    # Looking.

    @property
    def policy(self) -> Policy:
        """The durations in force."""
        return self.world.policy

    @property
    def is_serving(self) -> bool:
        """The job is meant to run on this very slice."""
        return self.job is not None and self.job.slice_uid == self.slice.uid

    @property
    def served(self) -> Job:
        """The job that this slice serves."""
        assert self.job is not None, "asked only where a job is served"
        return self.job

    @property
    def spec(self) -> JobSpec:
        """The spec of the served job."""
        assert self.job_spec is not None, "a job comes with its spec"
        return self.job_spec

    @property
    def attempt(self) -> Attempt | None:
        """The newest attempt of the job."""
        return self.attempts[-1] if self.attempts else None

    @property
    def writer(self) -> Writer | None:
        """The job's writer, if it was started on this slice and is not known to be dead."""
        writer = self.job.writer if self.job else None
        if writer is None or writer.dead or writer.slice_uid != self.slice.uid:
            return None
        return writer

    @property
    def runs(self) -> bool:
        """The job's newest attempt was started on the current generation and is not judged yet.

        Its writer may be known to be dead by then: the last host's end is its acknowledgement.
        """
        current = self.slice.current
        writer = self.job.writer if self.job else None
        return (
            self.stands_at(Stage.RUNNING)
            and current is not None
            and writer is not None
            and (writer.slice_uid, writer.generation) == (self.slice.uid, current.number)
        )

    def stands_at(self, *stages: Stage) -> bool:
        """The served job is in one of some stages."""
        return self.is_serving and self.served.stage in stages

    def hosts_of(self, generation: Generation, bid: str) -> tuple[Host, ...]:
        """What the hosts of one bid last said."""
        return tuple(
            host
            for host in self.hosts
            if (host.slice_uid, host.generation, host.bid)
            == (self.slice.uid, generation.number, bid)
        )

    def writers_hosts(self, writer: Writer) -> tuple[Host, ...]:
        """What the hosts on which the writer runs last said."""
        generation = self.generation(writer.generation)
        return self.hosts_of(generation, writer.bid) if generation else ()

    def generation(self, number: int) -> Generation | None:
        """A generation that is still kept."""
        return next((each for each in self.slice.generations if each.number == number), None)

    def kept(self, generation: Generation) -> Generation:
        """The newest value of a generation that is known to be kept."""
        newest = self.generation(generation.number)
        assert newest is not None, "generations are dropped by the last rule alone"
        return newest

    def since(self, when: datetime) -> float:
        """Seconds since a time of the Store."""
        return (self.now - when).total_seconds()

    def later(self, seconds: float) -> datetime:
        """A time from now."""
        return self.now + timedelta(seconds=seconds)

    # Changing.

    def with_slice(self, **changes: object) -> Situation:
        """Change the slice."""
        return replace(self, slice=replace(self.slice, **changes))  # type: ignore[arg-type]

    def with_job(self, **changes: object) -> Situation:
        """Change the job."""
        return replace(self, job=replace(self.served, **changes))  # type: ignore[arg-type]

    def with_writer(self, **changes: object) -> Situation:
        """Change the job's writer."""
        writer = self.served.writer
        assert writer is not None, "only a writer that is there can change"
        return self.with_job(writer=replace(writer, **changes))  # type: ignore[arg-type]

    def with_generation(self, generation: Generation) -> Situation:
        """Replace the generation of the same number."""
        return replace(self, slice=self.slice.with_generation(generation))

    def with_bid(self, generation: Generation, bid: Bid) -> Situation:
        """Replace one bid of a generation."""
        return self.with_generation(self.kept(generation).with_bid(bid))

    def with_attempt(self, **changes: object) -> Situation:
        """Change the newest attempt."""
        attempt = self.attempt
        assert attempt is not None, "only an attempt that is there can change"
        changed = replace(attempt, **changes)  # type: ignore[arg-type]
        return replace(self, attempts=(*self.attempts[:-1], changed))

    def note(self, event: str, text: str, *, public: bool = False, why: str = "") -> Situation:
        """Remember a sentence for the timeline."""
        return replace(self, notes=(*self.notes, Note(event, text, public, why)))

    def advance(self, event: Event, text: str, *, why: str = "", **changes: object) -> Situation:
        """Take the job to its next stage, and say why.

        Raises IllegalTransition for an event that the stage cannot meet.
        """
        stage = advance(self.served.stage, event)
        moved = self.with_job(stage=stage, stage_since=self.now, **changes)
        is_public = stage not in ON_A_SLICE or event in _NEWS_ON_A_SLICE
        return moved.note(event, text, public=is_public, why=why)
