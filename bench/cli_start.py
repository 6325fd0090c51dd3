"""How long `tpuctl --help` and `tpuctl ps` with 200 jobs take, beside bare Python."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from shared import settings as home_settings
from shared import wiring
from shared.catalog_data import load_catalog
from shared.core.codec import to_fields
from shared.core.hosts import Checkpoint, Progress
from shared.core.model import Job, Spent
from shared.core.spec import parse_spec, resolve, spec_sha256, to_document
from shared.core.stages import Stage
from shared.ports import Create

RUNS = 10
JOBS = 200
AT_WORK = 20
TPUCTL = str(Path(sys.executable).with_name("tpuctl"))


@dataclass(frozen=True, slots=True)
class Case:
    """One command, and how long it may take."""

    name: str
    command: Sequence[str]
    target_s: float | None = None


CASES = (
    Case("python -c pass", (sys.executable, "-c", "pass")),
    Case("tpuctl --help", (TPUCTL, "--help"), 0.20),
    Case(f"tpuctl ps, {JOBS} jobs", (TPUCTL, "ps"), 0.35),
)


def main() -> int:
    """Print the table; fail when a target is missed."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TPUCTL_HOME": folder, "COLUMNS": "80"}
        fabricate(environment)
        medians = {case: measure(case, environment) for case in CASES}
    bare_s = medians[CASES[0]]
    print(f"median of {RUNS}           seconds   times bare Python   target")
    for case, median_s in medians.items():
        target = "-" if case.target_s is None else f"{case.target_s:.2f}"
        print(f"{case.name:<20} {median_s:>9.3f} {median_s / bare_s:>19.1f} {target:>8}")
    missed = [case.name for case, found in medians.items() if found > (case.target_s or found)]
    for name in missed:
        print(f"missed: {name}")
    return 1 if missed else 0


def measure(case: Case, environment: dict[str, str]) -> float:
    """Return the median time of a command; the first run only warms the caches."""
    times = [once(case, environment) for _ in range(RUNS + 1)]
    return statistics.median(times[1:])


def once(case: Case, environment: dict[str, str]) -> float:
    """Run a command and return how long it took."""
    begun = time.perf_counter()
    quiet = subprocess.DEVNULL
    subprocess.run(case.command, env=environment, check=True, stdout=quiet, stderr=quiet)
    return time.perf_counter() - begun


def fabricate(environment: dict[str, str]) -> None:
    """Write an installation with many jobs, some of them at work."""
    settings = home_settings.load(environment)
    store = wiring.open_local_store(settings)
    jobs = [make_job(number, settings.owner) for number in range(1, JOBS + 1)]
    for job in jobs:
        store.commit([Create(f"jobs/{job.id}", to_fields(job))])
    store.close()


def make_job(number: int, owner: str) -> Job:
    """Make a job as it looks after a few attempts."""
    written = {
        "name": f"digits-{number}",
        "command": ["python", "train.py", "--steps", "300"],
        "accelerator_type": "v4-16",
        "zones": ["us-central2-b"],
    }
    spec = resolve(parse_spec(written), load_catalog())
    return Job(
        id=f"j{number:011d}",
        number=number,
        owner=owner,
        name=spec.name,
        spec=to_document(spec),
        spec_sha256=spec_sha256(spec),
        created_at=datetime.now(UTC) - timedelta(minutes=5 * (JOBS - number)),
        slice=f"{spec.name}-{number}",
        slice_uid="a2345678",
        stage=Stage.RUNNING if number % (JOBS // AT_WORK) == 0 else Stage.SUCCEEDED,
        summary="step 140/300",
        accelerator_type="v4-16",
        zone="us-central2-b",
        attempt=2,
        spent=Spent(preemptions=2),
        progress=Progress(140, 300),
        checkpoint=Checkpoint(120, "/outputs/120"),
    )
