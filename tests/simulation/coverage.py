"""What some seed must have reached: a simulation that never meets a fault proves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shared.core.causes import Cause
from shared.core.stages import TRANSITIONS, Event, Stage
from tests.simulation.chance import Fault

if TYPE_CHECKING:
    from tests.simulation.run import Result

_UNREACHED_STEPS: Final = {
    # A job stays queued for a moment: whatever admits it asks for its slice in the same commit.
    (Stage.QUEUED, Event.JOB_FAILED),
    (Stage.QUEUED, Event.STOP_ORDERED),
    # Every zone would have to refuse the project while the job waits for its next slice.
    (Stage.RECOVERING, Event.JOB_FAILED),
}
_STEPS: Final = [step for step in TRANSITIONS if step not in _UNREACHED_STEPS]
PROOFS: Final = ("acknowledged", "stopped", "absent", "lease")
# Devices are no part of the world; a bad node and a setup that fails end no attempt.
UNREACHED_CAUSES: Final = frozenset({Cause.DEVICE_LOCKED, Cause.BAD_NODE, Cause.SETUP})


@dataclass(slots=True)
class Coverage:
    """How often everything was reached, over many seeds."""

    faults: Counter[str] = field(default_factory=Counter)
    steps: Counter[tuple[str, str]] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    proofs: Counter[str] = field(default_factory=Counter)
    creates: int = 0
    points: int = 0
    left_read: int = 0

    def add(self, result: Result) -> None:
        """Count what one seed reached."""
        world = result.world
        self.faults.update({fault.name: count for fault, count in result.met.items()})
        self.steps.update(world.checks.history.steps)
        self.proofs.update(world.checks.history.proofs)
        self.creates += len(world.cloud.creates)
        self.points += world.calls.points
        self.left_read += world.storage.left_read
        for collection, documents in world.store.collections.items():
            if collection.endswith("/attempts"):
                self.causes.update(str(each.fields["cause"]) for each in documents.values())

    def join(self, others: Iterable[Coverage]) -> None:
        """Count what other seeds reached."""
        for other in others:
            self.faults += other.faults
            self.steps += other.steps
            self.causes += other.causes
            self.proofs += other.proofs
            self.creates += other.creates
            self.points += other.points
            self.left_read += other.left_read

    def never(self) -> list[str]:
        """Say what no seed reached."""
        missing: Mapping[str, list[str]] = {
            "fault": [fault.name for fault in Fault if not self.faults[fault.name]],
            "step": [f"{was} at {event}" for was, event in _STEPS if not self.steps[was, event]],
            "cause": [
                cause for cause in Cause if cause not in UNREACHED_CAUSES and not self.causes[cause]
            ],
            "proof": [proof for proof in PROOFS if not self.proofs[proof]],
            "report": [] if self.left_read else ["that was left in storage and read there"],
        }
        return [f"{kind}: {name}" for kind, names in missing.items() for name in names]
