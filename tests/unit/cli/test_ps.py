"""`tpuctl ps`: a table that fits, and the same as JSON."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from shared.core.hosts import Progress
from shared.core.model import Spent
from shared.core.stages import Stage
from tests.unit.cli.stage import Installed, Tpuctl, ago, make_job, make_slice, now


def test_no_jobs_is_said_with_the_next_step(tpuctl: Tpuctl) -> None:
    """A new installation is no error."""
    result = tpuctl("ps")

    assert (0, "no jobs of ada\nnext: tpuctl run --help\n") == (result.code, result.out)


def test_table_shows_what_is_asked_all_day(tpuctl: Tpuctl, installed: Installed) -> None:
    """One line a job."""
    job = make_job(
        12,
        name="digits",
        attempt=2,
        progress=Progress(140, 300),
        spent=Spent(preemptions=2),
        created_at=ago(3600 * 5 + 60 * 7 + 1),
        summary="generation 2",
    )
    installed.put_job(job)

    lines = tpuctl("ps").out.splitlines()

    assert ["JOB", "NAME", "STAGE", "STEP", "TYPE", "ZONE", "TRY", "LOST", "AGE"] == (
        lines[0].split()
    )
    assert [
        "12",
        "digits",
        "running",
        "140/300",
        "v4-16",
        "us-central2-b",
        "3",
        "2",
        "5h07m",
        "generation",
        "2",
    ] == (lines[1].split())


@pytest.mark.parametrize("columns", [80, 100, 132])
def test_no_line_is_wider_than_the_terminal(
    tpuctl: Tpuctl, installed: Installed, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Also with the longest words there are."""
    monkeypatch.setenv("COLUMNS", str(columns))
    job = make_job(
        1234,
        name="a" * 40,
        stage=Stage.PROVISIONING,
        progress=Progress(12000, 50000),
        attempt=11,
        summary="waits for capacity " * 9,
    )
    installed.put_job(replace(job, accelerator_type="v5litepod-256", zone="europe-west4-b"))

    lines = tpuctl("ps").out.splitlines()

    assert max(map(len, lines)) <= columns
    assert "provisioning" in lines[1]
    assert "europe-west4-b" in lines[1]


def test_a_slice_that_is_held_is_counted_down(tpuctl: Tpuctl, installed: Installed) -> None:
    """Of the job that it is held for, not of another one's name."""
    until = now() + timedelta(minutes=20, seconds=30)
    for number in (1, 2):
        installed.put_job(make_job(number, stage=Stage.FAILED))
    installed.put_slice(replace(make_slice(make_job(1)), held_until=until))
    installed.put_slice(replace(make_slice(make_job(2)), held_until=until, uid="another1"))

    heading, other, held = tpuctl("ps").out.splitlines()

    assert "HELD" in heading.split()
    assert any(word.startswith("20m") for word in held.split())
    assert "20m" not in other


def test_json_has_every_field_but_the_spec(tpuctl: Tpuctl, installed: Installed) -> None:
    """The spec may be long; ``show`` has it."""
    installed.put_job(make_job(1))

    (job,) = json.loads(tpuctl("ps", "--json").out)["jobs"]

    assert ("digits-1", "running", 1) == (job["name"], job["stage"], job["number"])
    assert "spec" not in job
    assert job["created_at"].endswith("+00:00")


def test_only_the_newest_fifty_are_shown_unless_all_are_wanted(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """And those at work."""
    for number in range(1, 61):
        installed.put_job(make_job(number, stage=Stage.SUCCEEDED))

    assert 50 == len(json.loads(tpuctl("ps", "--json").out)["jobs"])
    assert 60 == len(json.loads(tpuctl("ps", "--all", "--json").out)["jobs"])
    assert 61 == len(tpuctl("ps", "-a").out.splitlines())


def test_text_of_a_summary_cannot_steer_the_terminal(tpuctl: Tpuctl, installed: Installed) -> None:
    """It may come from a cloud's error message."""
    installed.put_job(make_job(1, summary="a\x1b[2J\nb"))

    out = tpuctl("ps").out

    assert "\x1b" not in out
    assert "a?[2J b" in out
