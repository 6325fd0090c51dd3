"""The kill switch, with real processes: nothing is made, and nothing that runs is touched."""

from collections.abc import Iterator

import pytest

from tests.installations import Installation, assert_never_two, running, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Give one installation to the tests of this file."""
    with running(tmp_path_factory.mktemp("pause") / "home") as installation:
        yield installation


def test_a_pause_holds_what_was_lost_and_leaves_what_runs(installation: Installation) -> None:
    """One job loses its slice, one runs on, one is new; then all go on."""
    lost, safe = installation.run("lost"), installation.run("safe")
    lost.until_saved(0)
    safe.until_saved(0)
    made = installation.creates()

    installation.tpuctl("pause", "--reason", "the bill")
    installation.tpuctl("sandbox", "preempt", lost.node, "--silent")
    fresh = installation.run("fresh")
    until(lambda: "the bill" in lost.job.summary, lambda: lost.job.summary)
    until(lambda: "the bill" in fresh.job.summary, lambda: fresh.job.summary)
    done = len(safe.entries(0, what="step"))
    until(lambda: len(safe.entries(0, what="step")) > done + 10)

    assert made == installation.creates()
    assert ("recovering", "running") == (lost.job.stage, safe.job.stage)
    assert "the bill" in installation.tpuctl("show", fresh.number)

    installation.tpuctl("unpause")
    lost.until_saved(1)
    fresh.until_saved(0)

    assert [0, 1, 0] == [work.job.attempt for work in (safe, lost, fresh)]
    assert made + 2 == installation.creates()
    for work in (lost, safe, fresh):
        work.finish()
    assert_never_two(lost)
