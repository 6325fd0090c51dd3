"""What the demo saw, and the figures that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from shared.core.model import Attempt, Job
from shared.core.slices import Slice
from shared.core.stages import Stage

_NEVER = datetime.min.replace(tzinfo=UTC)
_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Preemption:
    """A slice that the demo took away; ``at`` is when the order was given."""

    job: str
    attempt: int
    node: str
    at: datetime
    notice: bool


@dataclass(frozen=True, slots=True)
class Recovery:
    """Seconds from the preemption to each mark of the next attempt, as one machine's clock says.

    ``request`` is when the replacement was asked for, ``slice`` when it was there with all its
    hosts booted, ``process`` when the program was started, ``step`` when it took its first one.
    """

    preemption: Preemption
    request: float | None
    slice: float | None
    process: float | None
    step: float | None
    redone: int

    @property
    def cloud(self) -> float | None:
        """What the simulated cloud took: from the request until all hosts had booted."""
        return _minus(self.slice, self.request)

    @property
    def control_plane(self) -> float | None:
        """What was ours: until the request, and from the booted slice to the process."""
        ours = _minus(self.process, self.slice)
        return None if ours is None or self.request is None else self.request + ours

    @property
    def program(self) -> float | None:
        """What the program took for itself: imports, compilation, restoring."""
        return _minus(self.step, self.process)


@dataclass(frozen=True, slots=True)
class Told:
    """Everything that is known of the demo; each mapping is by the name of a job."""

    began_at: datetime
    planned: int
    jobs: Mapping[str, Job]
    slices: Mapping[str, Slice]
    attempts: Mapping[str, tuple[Attempt, ...]]
    timeline: tuple[tuple[str, Mapping[str, Any]], ...]
    preemptions: tuple[Preemption, ...]
    ledger: tuple[Mapping[str, Any], ...] = ()
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    now: datetime = _NEVER

    @property
    def is_over(self) -> bool:
        """All jobs have ended and everything they had in the cloud is gone."""
        return bool(self.jobs) and (
            all(job.is_over for job in self.jobs.values())
            and not any(each.live for each in self.slices.values())
        )

    @property
    def seconds(self) -> float:
        """How long it took so far."""
        return (self.now - self.began_at).total_seconds()

    @property
    def parameters_equal(self) -> bool:
        """The hash over all parameters is the same for every job, bit for bit."""
        hashes = {result.get("parameters_sha256") for result in self.results.values()}
        return len(self.results) == len(self.jobs) and len(hashes) == 1 and None not in hashes

    @property
    def ok(self) -> bool:
        """Both jobs succeeded, were preempted as planned, and agree."""
        return (
            self.is_over
            and all(job.stage is Stage.SUCCEEDED for job in self.jobs.values())
            and self.parameters_equal
            and len(self.preemptions) == self.planned
            and all(each.step is not None for each in self.recoveries)
        )

    @property
    def recoveries(self) -> tuple[Recovery, ...]:
        """What followed each preemption."""
        found = []
        for each in self.preemptions:
            attempts = {attempt.number: attempt for attempt in self.attempts[each.job]}
            following = attempts.get(each.attempt + 1)
            found.append(_recovery(each, attempts.get(each.attempt), following))
        return tuple(found)

    @property
    def ready_to_start_s(self) -> float | None:
        """The longest time from all hosts being prepared to the first process."""
        waits = [
            (attempt.process_at - attempt.prepared_at).total_seconds()
            for attempts in self.attempts.values()
            for attempt in attempts
            if attempt.process_at is not None and attempt.prepared_at is not None
        ]
        return max(waits, default=None)

    def request_s(self, *, notice: bool) -> float | None:
        """The longest time from a preemption of one kind to the request for its replacement."""
        kind = [each.request for each in self.recoveries if each.preemption.notice is notice]
        known = [seconds for seconds in kind if seconds is not None]
        return max(known) if known and len(known) == len(kind) else None

    def cost(self) -> tuple[float, float]:
        """Return chip-hours and USD at the real cloud's prices, as far as bids are gone."""
        hours, usd = 0.0, 0.0
        for line in self.ledger:
            if line["ready_at"] is None:
                continue
            held_s = (line["gone_at"] - line["ready_at"]).total_seconds()
            chip_hours = line["chips"] * held_s / _HOUR_S
            hours += chip_hours
            usd += chip_hours * (line["usd_per_chip_hour"] or 0.0)
        return hours, usd


def _recovery(preemption: Preemption, lost: Attempt | None, following: Attempt | None) -> Recovery:
    def seconds(when: datetime | None) -> float | None:
        return None if when is None else (when - preemption.at).total_seconds()

    if following is None:
        return Recovery(preemption, None, None, None, None, 0)
    redone = 0
    if lost is not None and lost.last_step is not None:
        redone = max(0, lost.last_step - (following.start_step or 0))
    return Recovery(
        preemption,
        request=seconds(following.requested_at),
        slice=seconds(following.claimed_at),
        process=seconds(following.process_at),
        step=seconds(following.first_step_at),
        redone=redone,
    )


def _minus(later: float | None, earlier: float | None) -> float | None:
    return None if later is None or earlier is None else later - earlier
