"""What happens in the demo: two jobs, two preemptions, and everything that was seen."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from cli.commands.run import submit
from cli.demo.told import Preemption, Told
from cli.errors import CliError
from cli.installation import Installation
from cli.orders import new_order
from cli.packing import pack
from sandbox import control
from shared.catalog_data import load_catalog
from shared.core.codec import from_fields
from shared.core.job_file import parse_job_file
from shared.core.model import Attempt, Job
from shared.core.names import run_folder
from shared.core.orders import OrderKind
from shared.core.slices import Slice
from shared.core.spec import JobSpec, resolve
from shared.core.stages import Stage
from shared.ports import Query
from shared.settings import Wiring

EXAMPLE: Final = Path(__file__).resolve().parent.parent.parent / "examples" / "digits_jax"
UNDISTURBED, PREEMPTED = "undisturbed", "preempted"
STEPS: Final = 160
SAVE_EVERY: Final = 20
# Through the emulators the demo hears later of a step.
STEP_DELAY_MS: Final = {Wiring.EMBEDDED: 20, Wiring.GOOGLE: 60}
# The first one comes with a notice that is long enough to save, the second without a word.
NOTICE_AT, SILENT_AT = STEPS // 4, STEPS * 11 // 16
NOTICE_S: Final = 6.0
_LOOK_AGAIN_S: Final = 0.05
_PATIENCE_S: Final = 240.0


@dataclass(frozen=True, slots=True)
class Plan:
    """One preemption to come: from which step of which attempt on, and how."""

    attempt: int
    step: int
    notice: bool


PLANS: Final = (Plan(0, NOTICE_AT, notice=True), Plan(1, SILENT_AT, notice=False))


def play(installation: Installation, show: Callable[[Told], None]) -> Told:
    """Submit both jobs, preempt one of them twice, and return what was seen at the end.

    ``show`` is called with everything that is known, several times a second.
    """
    began_at = datetime.now(UTC)
    jobs = {name: _submit(installation, name) for name in (UNDISTURBED, PREEMPTED)}
    told = Told(began_at, len(PLANS), {}, {}, {}, (), ())
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        told = _look(installation, jobs, told)
        show(told)
        if told.is_over:
            return told
        if time.monotonic() > deadline:
            raise CliError(
                f"the demo was not over within {_PATIENCE_S:.0f} s",
                next_step="tpuctl demo --home DIR keeps everything, runner.log included",
            )
        told = _preempt(installation, told)
        time.sleep(_LOOK_AGAIN_S)


def _submit(installation: Installation, name: str) -> str:
    bundle = pack(EXAMPLE)
    spec = _spec(name, bundle.as_code(), STEP_DELAY_MS[installation.settings.wiring])
    return submit(installation, new_order(OrderKind.SUBMIT), spec, bundle).job


def _spec(name: str, code: object, delay_ms: int) -> JobSpec:
    """Take the example's own job file, with fewer steps."""
    text = (EXAMPLE / "job.yaml").read_text("utf-8")
    numbers = {"--steps": STEPS, "--save-every": SAVE_EVERY, "--step-delay-ms": delay_ms}
    words = [str(word) for pair in numbers.items() for word in pair]
    command = ["python", "train.py", *words]
    file = parse_job_file(text, "job.yaml")
    return resolve(file.spec(name=name, command=command, code=code), load_catalog())


def _look(installation: Installation, jobs: Mapping[str, str], told: Told) -> Told:
    store = installation.store
    found = {name: store.get(f"jobs/{job}") for name, job in jobs.items()}
    known = {name: from_fields(Job, each.fields) for name, each in found.items() if each}
    slices = {name: store.get(f"slices/{job.slice}") for name, job in known.items()}
    return replace(
        told,
        now=datetime.now(UTC),
        jobs=known,
        slices={name: from_fields(Slice, each.fields) for name, each in slices.items() if each},
        attempts={name: _attempts(installation, job.id) for name, job in known.items()},
        timeline=tuple(
            (name, each.fields)
            for name, job in known.items()
            for each in store.query(Query(f"jobs/{job.id}/timeline", limit=500))
        ),
        ledger=tuple(each.fields for each in store.query(Query("ledger", limit=500))),
        results={name: _result(installation, job) for name, job in known.items()},
    )


def _attempts(installation: Installation, job: str) -> tuple[Attempt, ...]:
    found = installation.store.query(Query(f"jobs/{job}/attempts", limit=500))
    attempts = [from_fields(Attempt, each.fields) for each in found]
    return tuple(sorted(attempts, key=lambda attempt: attempt.number))


def _result(installation: Installation, job: Job) -> Mapping[str, Any]:
    """Read what the training wrote at its end."""
    folder = run_folder(installation.settings.outputs_root, job.id, job.run)
    try:
        found: dict[str, Any] = json.loads(Path(folder, "output/result.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def _preempt(installation: Installation, told: Told) -> Told:
    """Take the slice away when its job is far enough."""
    job, slice_ = told.jobs.get(PREEMPTED), told.slices.get(PREEMPTED)
    plan = next((each for each in PLANS[len(told.preemptions) :]), None)
    if job is None or slice_ is None or plan is None or not _is_due(told, job, plan):
        return told
    bid = slice_.current.claimed_bid if slice_.current else None
    if bid is None:
        return told
    at = datetime.now(UTC)
    control.preempt(
        installation.settings.sandbox_home,
        bid.name,
        notice=plan.notice,
        notice_s=NOTICE_S if plan.notice else None,
    )
    seen = Preemption(PREEMPTED, plan.attempt, bid.name, at, plan.notice)
    return replace(told, preemptions=(*told.preemptions, seen))


def _is_due(told: Told, job: Job, plan: Plan) -> bool:
    """It is far enough, and has done some of that in this attempt: it may have begun there."""
    has_stepped = any(
        attempt.number == plan.attempt and attempt.first_step_at is not None
        for attempt in told.attempts[PREEMPTED]
    )
    return (
        job.stage is Stage.RUNNING
        and has_stepped
        and job.attempt == plan.attempt
        and job.progress is not None
        and job.progress.step >= plan.step
    )
