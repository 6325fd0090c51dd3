"""What some seed must have reached: a simulation that never meets a fault proves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from shared.core.causes import Cause
from shared.core.stages import TRANSITIONS, Stage
from tests.simulation.chance import Fault

if TYPE_CHECKING:
    from tests.simulation.run import Result

PROOFS: Final = ("acknowledged", "stopped", "absent", "lease")
# Devices are no part of the world, and nobody's program here meets a node without chips.
UNREACHED_CAUSES: Final = frozenset({Cause.DEVICE_LOCKED})


@dataclass(slots=True)
class Coverage:
    """How often everything was reached, over many seeds."""

    faults: Counter[str] = field(default_factory=Counter)
    stages: Counter[tuple[str, str]] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)
    proofs: Counter[str] = field(default_factory=Counter)
    creates: int = 0
    points: int = 0

    def add(self, result: Result) -> None:
        """Count what one seed reached."""
        world = result.world
        self.faults.update({fault.name: count for fault, count in result.met.items()})
        self.stages.update((was, is_) for _, _, was, is_ in world.checks.history.stages)
        self.proofs.update(world.checks.history.proofs)
        self.creates += len(world.cloud.creates)
        self.points += world.calls.points
        for collection, documents in world.store.collections.items():
            if collection.endswith("/attempts"):
                self.causes.update(str(each.fields["cause"]) for each in documents.values())

    def join(self, others: Iterable[Coverage]) -> None:
        """Count what other seeds reached."""
        for other in others:
            self.faults += other.faults
            self.stages += other.stages
            self.causes += other.causes
            self.proofs += other.proofs
            self.creates += other.creates
            self.points += other.points

    def never(self) -> list[str]:
        """Say what no seed reached."""
        missing: Mapping[str, list[str]] = {
            "fault": [fault.name for fault in Fault if not self.faults[fault.name]],
            "step": [f"{was} -> {is_}" for was, is_ in _steps() if not self._went(was, is_)],
            "cause": [
                cause for cause in Cause if cause not in UNREACHED_CAUSES and not self.causes[cause]
            ],
            "proof": [proof for proof in PROOFS if not self.proofs[proof]],
        }
        return [f"{kind}: {name}" for kind, names in missing.items() for name in names]

    def _went(self, was: Stage, is_: Stage) -> bool:
        return bool(self.stages[was, is_])


def _steps() -> set[tuple[Stage, Stage]]:
    """What one commit shows of the table: a step to the same stage leaves no trace in it."""
    return {(was, is_) for (was, _), is_ in TRANSITIONS.items() if was is not is_}
