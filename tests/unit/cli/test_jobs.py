"""Jobs are found by number, @last, id and name; what is not found has near names."""

import pytest

from cli.errors import NotFoundError
from cli.installation import Installation
from cli.jobs import find_job, list_jobs
from shared.core.hosts import Progress
from shared.core.stages import Stage
from tests.unit.cli.stage import OWNER, Installed, make_job


@pytest.fixture
def here(installed: Installed) -> Installation:
    """Return what commands see."""
    return Installation(installed.settings)


@pytest.mark.parametrize("name", ["2", "@last", "j00000000002", "digits-2"])
def test_job_is_found_by_each_of_its_names(
    installed: Installed, here: Installation, name: str
) -> None:
    """They mean the same job."""
    installed.put_job(make_job(1))
    installed.put_job(make_job(2))

    assert 2 == find_job(here, name).number


def test_last_is_the_newest_of_the_owner(installed: Installed, here: Installation) -> None:
    """Not of somebody else."""
    installed.put_job(make_job(3))
    installed.put_job(make_job(9, owner="grace"))

    assert 3 == find_job(here, "@last").number


@pytest.mark.parametrize(
    "name, told",
    [
        pytest.param("7", "there is no job '7'; the newest is 2", id="number"),
        pytest.param("digit-2", "near: digits-2 (2)", id="near name"),
        pytest.param("99999999999999999999999999", "the newest is 2", id="absurd number"),
        pytest.param("²", "the newest is 2", id="a digit that is none"),
        pytest.param("a/../b", "there is no job 'a/../b'", id="no name at all"),
        pytest.param("", "there is no job ''", id="empty"),
        pytest.param("x\ny", "there is no job 'x\\ny'", id="newline"),
    ],
)
def test_unknown_job_exits_with_3_and_says_what_is_near(
    installed: Installed, here: Installation, name: str, told: str
) -> None:
    """Whatever was typed."""
    for number in (1, 2):
        installed.put_job(make_job(number))

    with pytest.raises(NotFoundError) as caught:
        find_job(here, name)

    assert told in str(caught.value)
    assert (3, "tpuctl ps --all") == (caught.value.code, caught.value.next_step)


def test_installation_without_jobs_says_so(here: Installation) -> None:
    """Nothing is near."""
    with pytest.raises(NotFoundError, match="there is none yet"):
        find_job(here, "@last")


def test_name_of_several_jobs_is_refused_with_their_numbers(
    installed: Installed, here: Installation
) -> None:
    """Rather than guessed."""
    installed.put_job(make_job(1, name="digits"))
    installed.put_job(make_job(2, name="digits"))

    with pytest.raises(NotFoundError, match="several jobs: 1, 2"):
        find_job(here, "digits")


def test_active_jobs_come_first_and_are_never_left_out(
    installed: Installed, here: Installation
) -> None:
    """Even when many newer ones are over."""
    installed.put_job(make_job(1, stage=Stage.RUNNING))
    for number in range(2, 8):
        installed.put_job(make_job(number, stage=Stage.SUCCEEDED))
    installed.put_job(make_job(8, stage=Stage.QUEUED))

    numbers = [job.number for job in list_jobs(here.store, OWNER, 4)]

    assert [1, 8, 7, 6] == numbers


@pytest.mark.parametrize(
    "progress, step",
    [(None, "-"), (Progress(7), "7"), (Progress(0, 300), "0/300")],
    ids=["none", "no total", "total"],
)
def test_step_is_what_is_known(
    installed: Installed, here: Installation, progress: Progress | None, step: str
) -> None:
    """And a dash where nothing is."""
    installed.put_job(make_job(1, progress=progress))

    assert step == find_job(here, "1").step


def test_document_of_an_older_version_is_read(installed: Installed, here: Installation) -> None:
    """What it did not write yet has its default."""
    installed.put(
        "jobs/j1", {"id": "j1", "number": 1, "owner": OWNER, "name": "a", "stage": "queued"}
    )

    job = find_job(here, "1")

    assert (-1, "-", "") == (job.attempt, job.step, job.summary)
