"""The scenarios that depend on what real processes do, over the sandbox and its hosts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.core.causes import Cause
from tests.installations import Installation, Work, assert_never_two, running, until

pytestmark = pytest.mark.slow

# A silent host is given up soon; everything else stays as it is.
POLICY = {"silent_host_s": 4.0, "canary_s": 4.0, "snapshot_s": 0.5, "absence_s": 1.0}


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Give the installation that the tests of this file share; each uses jobs of its own."""
    with running(tmp_path_factory.mktemp("scenarios") / "home", policy=POLICY) as installation:
        yield installation


def creates(work: Work) -> int:
    """Count the queued resources that were granted for a job's slice."""
    installation = work.installation.opened.settings.installation
    return work.installation.creates(f"tpuctl-{installation}-{work.slice.uid}-")


def test_08_a_checkpoint_that_was_being_written_is_not_gone_on_from(
    installation: Installation,
) -> None:
    """The one before it is; and what was half written is left as it was."""
    work = installation.run("half")
    work.until_saved(0)
    half = Path(work.diary[0].checkpoints) / "1000000"
    half.mkdir()
    (half / "shard-0").write_bytes(b"half of it")

    installation.tpuctl("sandbox", "preempt", work.node, "--silent")
    work.until_saved(1)
    work.finish()

    begun = {entry.step for entry in work.entries(1, what="start")}
    assert 0 < max(begun) < 1_000_000
    assert ["shard-0"] == [path.name for path in half.iterdir()]
    assert b"half of it" == (half / "shard-0").read_bytes()
    assert 2 == creates(work)
    assert_never_two(work)


def test_10_a_workload_that_exits_7_says_so_and_keeps_its_slice(
    installation: Installation,
) -> None:
    """The code is the program's own; no slice is asked for on its account."""
    command = (sys.executable, "-c", "raise SystemExit(7)")
    work = installation.run("seven", "--rule", "pass", command=command)
    job = work.until("failed")

    assert (Cause.ERROR, 7, 0) == (job.cause, job.exit_code, job.spent.preemptions)
    assert (1, 1) == (creates(work), work.slice.generation)


def test_11_host_0_healthy_host_1_dead(installation: Installation) -> None:
    """Host 1 says nothing more: the slice is replaced, and the job goes on where it saved."""
    work = installation.run("half-dead")
    work.until_saved(0)

    installation.admin.cut_off(work.host_name(1), "storage", "pubsub", "metadata")
    until(lambda: work.slice.generation == 2)
    work.until_saved(1)
    work.finish()

    assert [Cause.HOST_LOST, Cause.SUCCEEDED] == [attempt.cause for attempt in work.attempts]
    assert 2 == creates(work)
    assert_never_two(work)
