"""`tpuctl clean`: finished jobs are put away, and nothing else happens to them."""

import pytest

from cli.seen import read_seen
from shared.core.stages import Stage
from tests.unit.cli.stage import OWNER, Installed, Tpuctl, ago, make_job

STAGES = {1: Stage.SUCCEEDED, 2: Stage.CANCELLED, 3: Stage.FAILED, 4: Stage.RUNNING}


@pytest.fixture(autouse=True)
def jobs(installed: Installed) -> None:
    """Have a job at each end, and one at work."""
    installed.pretend_up()
    for number, stage in STAGES.items():
        installed.put_job(make_job(number, stage=stage, ended_at=ago(60)))


def listed(tpuctl: Tpuctl, *words: str) -> set[int]:
    """Return the numbers that ``ps`` shows."""
    lines = tpuctl("ps", *words).out.splitlines()[1:]
    return {int(line.split()[0]) for line in lines}


def test_what_ended_well_is_left_out_by_ps(tpuctl: Tpuctl) -> None:
    """A failed job waits for a decision."""
    result = tpuctl("clean")

    assert "put away 2: 2 digits-2, 1 digits-1; nothing was deleted" in result.out
    assert {3, 4} == listed(tpuctl)
    assert {1, 2, 3, 4} == listed(tpuctl, "--all")


def test_failed_ones_go_when_all_shall_go(tpuctl: Tpuctl) -> None:
    """What is at work stays."""
    tpuctl("clean", "--all")

    assert {4} == listed(tpuctl)


def test_documents_are_as_before(tpuctl: Tpuctl, installed: Installed) -> None:
    """Not even touched."""
    before = installed.store.get("jobs/j00000000001")

    tpuctl("clean")

    assert before is not None
    after = installed.store.get("jobs/j00000000001")
    assert after is not None
    assert (before.token, before.fields) == (after.token, after.fields)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"stage": Stage.RUNNING, "attempt": 1}, id="resumed"),
        pytest.param({"stage": Stage.SUCCEEDED, "attempt": 1}, id="ended once more"),
        pytest.param({"stage": Stage.SUCCEEDED, "ended_at": ago(5)}, id="ended at another time"),
    ],
)
def test_a_job_that_became_news_is_back(
    tpuctl: Tpuctl, installed: Installed, changes: dict[str, object]
) -> None:
    """Whatever it does now."""
    tpuctl("clean")

    installed.put_job(make_job(1, **changes))

    assert {1, 3, 4} == listed(tpuctl)


def test_single_jobs_can_be_named(tpuctl: Tpuctl) -> None:
    """Also failed ones; a job at work is refused, with the step that leads there."""
    assert 0 == tpuctl("clean", "3").code
    refused = tpuctl("clean", "1", "4")

    assert "job 4 is running, not over" == refused.error
    assert "tpuctl stop 4, then tpuctl clean 4" == refused.next_step
    assert {1, 2, 4} == listed(tpuctl)


def test_nothing_left_is_said(tpuctl: Tpuctl, installed: Installed) -> None:
    """By clean, and by ps when all is put away."""
    installed.put_job(make_job(4, stage=Stage.FAILED, ended_at=ago(60)))
    tpuctl("clean", "--all")

    assert "nothing to put away" in tpuctl("clean", "--all").out
    assert "no jobs but cleaned ones\nnext: tpuctl ps --all" in tpuctl("ps").out


def test_older_jobs_come_up_behind_cleaned_ones(tpuctl: Tpuctl, installed: Installed) -> None:
    """`ps` looks further back when it leaves something out."""
    for number in range(5, 65):
        installed.put_job(make_job(number, stage=Stage.SUCCEEDED, ended_at=ago(50)))
    tpuctl("clean", *map(str, range(15, 65)))

    assert {3, 4, *range(5, 15)} <= listed(tpuctl)


def test_all_and_a_name_contradict_each_other(tpuctl: Tpuctl) -> None:
    """Exit 2."""
    assert 2 == tpuctl("clean", "--all", "1").code


@pytest.mark.parametrize("text", ["", "[]", '{"cleaned": 3, "looked_at": 1}', "{"])
def test_a_file_that_says_nothing_sensible_hides_nothing(
    tpuctl: Tpuctl, installed: Installed, text: str
) -> None:
    """It is a convenience, not state."""
    tpuctl("clean")
    path = read_seen(installed.settings, OWNER).path
    path.write_text(text)

    assert set(STAGES) == listed(tpuctl)
