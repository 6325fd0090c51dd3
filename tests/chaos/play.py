"""One chaos run: jobs, some minutes in which everything goes wrong, then calm."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from shared.core.policy import EMBEDDED
from shared.errors import ControlPlaneError
from shared.topology import FUNCTIONS
from tests.chaos.bags import BAG, script
from tests.chaos.crew import Crew, tasks
from tests.chaos.deeds import Chaos
from tests.chaos.judge import Verdict, judge, keep_documents, left
from tests.chaos.owners import Owners
from tests.chaos.stage import Stage, opened
from tests.installations import until

# As in a rehearsal, but with a report a second from all jobs together: one machine is all there is.
POLICY: Final[Mapping[str, float]] = {
    **asdict(EMBEDDED),
    "tick_s": 1.0,
    "notice_s": 15.0,
    "intent_due_s": 3.0,
    "late_create_s": 10.0,
    "start_s": 60.0,
    "progress_s": 5.0,
    "log_s": 5.0,
}
TOLD_EVERY_S: Final = 15.0
LOOK_S: Final = 1.0
# A busy machine needs longer for as many preemptions.
LONGER: Final = 2.0
# A deed finds nothing to break now and then.
IN_VAIN_MAX: Final = 6


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, how many and how hard; the same seed makes the same deeds in the same order."""

    seconds: float = 600.0
    jobs: int = 30
    at_once: int = 8
    seed: int = 1
    preemptions_min: int = 100
    calm_s: float = 900.0
    # What part of its time a job counts; in the rest it is lost, waits and starts again.
    counted: tuple[float, float] = (0.1, 0.25)
    # How long nothing more is broken.
    rests_s: tuple[float, float] = (0.2, 2.0)
    # How long what is held up, frozen or cut off stays so.
    lasts_s: tuple[float, float] = (1.0, 5.0)
    bag: Mapping[str, int] = field(default_factory=lambda: BAG)
    policy: Mapping[str, float] = field(default_factory=lambda: POLICY)

    @property
    def command(self) -> str:
        """What does the same again."""
        minutes = f"{self.seconds / 60:g}"
        return f"make chaos MINUTES={minutes} JOBS={self.jobs} SEED={self.seed}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done, and what came of it."""

    plan: Plan
    counts: Mapping[str, int]
    verdict: Verdict
    chaos_s: float
    calm_s: float
    jobs: int
    finished: int
    in_vain: Mapping[str, int] = field(default_factory=dict)

    @property
    def complaints(self) -> list[str]:
        """Everything that is wrong with the run, and with chaos that was too mild."""
        mild = [*too_mild(self.plan, self.counts), *ineffective(self.in_vain)]
        return [*self.verdict.complaints, *mild]


def too_mild(plan: Plan, counts: Mapping[str, int]) -> list[str]:
    """Say what was broken too rarely to prove anything."""
    preempted = counts.get("preemptions", 0)
    spared = [name for name in FUNCTIONS if not counts.get(f"functions killed, {name}")]
    found = [f"function {name} was never killed" for name in spared]
    if preempted < plan.preemptions_min:
        found.append(f"only {preempted} preemptions, {plan.preemptions_min} are wanted")
    return found


def ineffective(in_vain: Mapping[str, int]) -> list[str]:
    """Say which deeds break nothing: what is tried so often finds something, if it can."""
    return [
        f"{name} was done {times} times in a row and broke nothing"
        for name, times in in_vain.items()
        if times >= IN_VAIN_MAX
    ]


def play(plan: Plan, home: Path, say: Callable[[str], None] = lambda _: None) -> Outcome:
    """Make chaos in a home of its own, then wait until all is calm, and judge."""
    share_s, (least, most) = plan.seconds * plan.at_once / plan.jobs, plan.counted
    planned = tasks((least * share_s, most * share_s), Random(plan.seed))
    with opened(home, policy=plan.policy, cloud={}) as stage:
        # What is hit depends on what is there; what is done does not.
        deeds = script(plan.bag, Random(plan.seed))
        with Crew(stage, planned, plan.jobs, plan.at_once) as crew:
            counts = Counter[str]()
            owners = Owners(crew, Random(f"{plan.seed} owners"), counts)
            chaos = Chaos(stage, owners, Random(plan.seed), deeds, plan.lasts_s, counts)
            begun = time.monotonic()
            try:
                _break(plan, chaos, crew, say)
            finally:
                crew.lasts.clear()
                chaos.close()
            stage.installation.admin.change_settings(failures=[], stuck_deletes=0)
            calm = time.monotonic()
            _settle(plan, stage, crew, say)
        verdict = judge(stage, crew, home / "undisturbed")
        calm_s = time.monotonic() - calm
        jobs = (len(crew.tasks), len(crew.over))
        outcome = Outcome(plan, counts, verdict, calm - begun, calm_s, *jobs, chaos.in_vain)
        if outcome.complaints:
            keep_documents(crew, home / "documents.json")
        return outcome


def _break(plan: Plan, chaos: Chaos, crew: Crew, say: Callable[[str], None]) -> None:
    """Do one deed after another, as long as the plan says or until there were enough."""
    until(
        lambda: "running" in crew.stages.values() or crew.problems,
        lambda: f"no job runs: {_jobs(crew)}",
    )
    pause, begun, told = threading.Event(), time.monotonic(), 0.0
    while not crew.problems:
        passed_s = time.monotonic() - begun
        if passed_s > plan.seconds * (LONGER if too_mild(plan, chaos.counts) else 1.0):
            return
        chaos.one()
        pause.wait(chaos.chance.uniform(*plan.rests_s))
        chaos.heal()
        if passed_s - told >= TOLD_EVERY_S:
            told = passed_s
            say(f"{passed_s:4.0f} s: {_jobs(crew)}, {as_line(chaos.counts)}")


def _settle(plan: Plan, stage: Stage, crew: Crew, say: Callable[[str], None]) -> None:
    """Wait until all jobs are over and the cloud is empty, no longer than the plan allows."""
    begun, told = time.monotonic(), [-TOLD_EVERY_S]

    def is_over() -> bool:
        passed_s = time.monotonic() - begun
        if passed_s - told[0] >= TOLD_EVERY_S:
            told[0] = passed_s
            say(f"calm for {passed_s:.0f} s: {_jobs(crew)}")
        # What stood still for seconds has a lot to do at first, and may not answer in time.
        with suppress(ControlPlaneError):
            return (crew.is_done and not left(stage)) or passed_s > plan.calm_s
        return False

    until(is_over, patience_s=plan.calm_s + 60, every_s=LOOK_S)


def _jobs(crew: Crew) -> str:
    stages = Counter(list(crew.stages.values()))
    return f"{len(crew.works)} jobs ({as_line(stages)})"


def as_line(counts: Mapping[str, int]) -> str:
    """Write counts for a log."""
    return json.dumps(dict(sorted(counts.items())))
