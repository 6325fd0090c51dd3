"""The local runner may die at any moment of any recovery: the job goes on, and nothing doubles.

Ten deaths by default: half a minute, most of which a runner takes to start. Fifty, as promised,
or another seed:

    TPUCTL_KILLS=50 TPUCTL_SEED=7 .venv/bin/pytest tests/e2e/test_runner_kill9.py
"""

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import local_runner
from sandbox import control
from shared.core.causes import Cause
from tests.installations import Installation, Work, assert_never_two, running, until

# Read at import: the tests' environment is cleared of whatever begins like this.
KILLS = int(os.environ.get("TPUCTL_KILLS", "10"))
SEED = int(os.environ.get("TPUCTL_SEED", "1"))
# A whole recovery takes about as long.
DELAY_S_MAX = 1.5
NOTICE_S = 0.5


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    """Give an installation whose tick does not wait long for anything."""
    policy = {"tick_s": 0.25, "intent_due_s": 2.0, "absence_s": 0.5}
    with running(tmp_path / "installation", policy=policy) as installation:
        yield installation


@pytest.mark.slow
def test_killed_runner_loses_and_doubles_nothing(installation: Installation) -> None:
    """One generation a loss, one attempt a generation, no orphan; whenever it was killed."""
    chance = random.Random(SEED)
    work = installation.run("hardy")
    work.until_saved(0, steps=1)

    for kill in range(KILLS):
        control.preempt(
            installation.home / "sandbox",
            work.node,
            notice=kill % 2 == 0,
            notice_s=NOTICE_S if kill % 2 == 0 else None,
        )
        _kill_runner(installation, after_s=chance.uniform(0, DELAY_S_MAX))
        installation.start_runner()
        _until_runs(work, kill + 1)
    work.finish()

    numbers = list(range(KILLS + 1))
    assert numbers == [attempt.number for attempt in work.attempts]
    assert [number + 1 for number in numbers] == [each.generation for each in work.attempts]
    assert [Cause.PREEMPTED] * KILLS == [attempt.cause for attempt in work.attempts[:-1]]
    assert KILLS + 1 == work.slice.generation == installation.creates()
    losses = [text for text in work.told("SliceLost") if text.startswith("tpuctl-")]
    assert KILLS == len(losses) == len(set(losses))
    assert_never_two(work)
    until(lambda: not work.slice.live, lambda: f"the slice is {work.slice.summary}")
    assert ([], []) == _left(installation)


def _kill_runner(installation: Installation, *, after_s: float) -> None:
    """Kill the runner, and nothing else, at a moment that is not tied to anything."""
    runner = local_runner.find(installation.home)
    assert runner is not None, "the runner is up"
    threading.Event().wait(after_s)
    os.kill(runner.pid, signal.SIGKILL)
    until(lambda: local_runner.find(installation.home) is None)


def _until_runs(work: Work, attempt: int) -> None:
    """Wait until an attempt writes, and the control plane knows what it wrote."""

    def runs() -> bool:
        job = work.job
        is_known = job.attempt == attempt and job.stage == "running"
        return is_known and all(work.entries(attempt, host, "step") for host in range(2))

    until(runs, lambda: f"attempt {attempt}: job is {work.job.stage}: {work.job.summary}")


def _left(installation: Installation) -> tuple[object, object]:
    """Return what the cloud still holds."""
    status = installation.admin.get("status")
    return status["queuedResources"], status["nodes"]
