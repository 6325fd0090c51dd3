"""`tpuctl show`: everything about a job on one screen."""

import json
from datetime import timedelta

import pytest

from cli.job_text import next_step
from shared.core.causes import Cause
from shared.core.hosts import Checkpoint, Progress
from shared.core.model import FailedRestore, Spent
from shared.core.stages import Stage
from tests.unit.cli.stage import Installed, Tpuctl, ago, make_attempt, make_job, make_slice


@pytest.fixture
def failed(installed: Installed) -> None:
    """Have a job that was preempted once and then failed."""
    spec = {"env": {"TOKEN": "very secret"}, "tags": ["baseline"], "on": {"hang": "stop"}}
    job = make_job(
        4,
        name="digits",
        stage=Stage.FAILED,
        attempt=1,
        spec=spec,
        reason="it failed without reaching a newer checkpoint",
        progress=Progress(140, 300),
        checkpoint=Checkpoint(120, "/out/120"),
        spent=Spent(preemptions=1, failures=1),
        stage_since=ago(65),
    )
    installed.put_job(job)
    installed.put_slice(make_slice(job))
    begun = ago(600)
    first = {"process_at": begun, "ended_at": begun + timedelta(seconds=83)}
    installed.put_attempt(
        make_attempt(job, 0, **first, start_step=0, last_step=100, cause=Cause.PREEMPTED)
    )
    installed.put_attempt(
        make_attempt(
            job, 1, ended_at=ago(65), start_step=100, last_step=140, cause=Cause.ERROR,
            cause_host=1, exit_code=2, evidence="Traceback\n  ...\nValueError: \x1b[31mloss is nan",
        )
    )  # fmt: skip
    installed.say(job, "00001", "attempt 0 started on 2 hosts")
    installed.say(job, "00002", "slice lost: preempted", who="recovery", event="SliceLost")


@pytest.mark.usefixtures("failed")
def test_all_that_matters_is_shown(tpuctl: Tpuctl) -> None:
    """Facts, slice, attempts, timeline, last output, next step."""
    out = tpuctl("show", "4").out

    assert out.startswith("job 4  digits  failed for 1m05s, step 140 of 300\n")
    for text in (
        "it failed without reaching a newer checkpoint",
        "python train.py",
        "v4-16 spot in us-central2-b",
        "pre with hang=stop: 1 of 1000 preemptions, 1 of 3 failures spent",
        "step 120, /out/120",
        "baseline",
        "tpuctl-abc123-a2345678-g0-b0 us-central2-b: active, pending",
        "recovery  slice lost: preempted",
        "last output of attempt 1",
        "ValueError: ?[31mloss is nan",
    ):
        assert text in out
    assert out.endswith("next: tpuctl logs 4, then tpuctl resume 4 or tpuctl rerun 4\n")


@pytest.mark.usefixtures("failed")
def test_attempts_are_a_table(tpuctl: Tpuctl) -> None:
    """When, how long, from where to where, and why it ended."""
    lines = tpuctl("show", "4").out.splitlines()
    begin = lines.index("attempts")

    assert ["#", "STARTED", "RAN", "ZONE", "STEPS", "CAUSE", "EXIT", "HOST"] == (
        lines[begin + 1].split()
    )
    assert ["0", "1m23s", "us-central2-b", "0..100", "preempted"] == [
        word for word in lines[begin + 2].split() if ":" not in word
    ]
    assert ["error", "2", "1"] == lines[begin + 3].split()[-3:]


@pytest.mark.usefixtures("failed")
def test_values_of_the_environment_are_not_shown(tpuctl: Tpuctl) -> None:
    """Somebody may look over the shoulder; --json has them."""
    assert "very secret" not in tpuctl("show", "4").out
    assert "TOKEN" in tpuctl("show", "4").out
    assert "very secret" in tpuctl("show", "4", "--json").out


@pytest.mark.usefixtures("failed")
def test_json_has_all_documents(tpuctl: Tpuctl) -> None:
    """As they are stored."""
    found = json.loads(tpuctl("show", "4", "--json").out)

    assert ["attempts", "job", "slice", "timeline"] == sorted(found)
    assert [0, 1] == [attempt["number"] for attempt in found["attempts"]]
    assert "SliceLost" == found["timeline"][1]["event"]
    assert 4 == found["job"]["number"]


@pytest.mark.usefixtures("failed")
@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(
    tpuctl: Tpuctl, monkeypatch: pytest.MonkeyPatch, installed: Installed, columns: int
) -> None:
    """Whatever stands in it."""
    monkeypatch.setenv("COLUMNS", str(columns))
    installed.say(make_job(4), "00003", "日本 and so on " * 20)

    lines = tpuctl("show", "4").out.splitlines()

    assert max(map(len, lines)) <= columns


def test_new_job_is_shown_before_anything_happened(tpuctl: Tpuctl, installed: Installed) -> None:
    """No slice, no attempts, no timeline."""
    installed.pretend_up()
    installed.put_job(make_job(1, stage=Stage.QUEUED, attempt=-1))

    result = tpuctl("show", "1")

    assert (0, "") == (result.code, result.err)
    assert "attempts" not in result.out
    assert result.out.endswith("next: tpuctl wait 1, tpuctl stop 1\n")


def test_long_histories_end_with_the_newest(tpuctl: Tpuctl, installed: Installed) -> None:
    """Ten comes after nine."""
    job = installed.put_job(make_job(1, attempt=29))
    for number in range(30):
        installed.put_attempt(make_attempt(job, number, ended_at=ago(1)))
        installed.say(job, f"{number:05}", f"entry {number}.")

    out = tpuctl("show", "1").out

    assert "attempts, the last 20 of 30 (--json has all)" in out
    assert "entry 29." in out
    assert "entry 9." not in out


def test_slice_of_another_job_under_the_same_name_is_not_shown(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Names are used again."""
    job = installed.put_job(make_job(1))
    installed.put_slice(make_slice(job, uid="zzzzzzzz"))

    assert "slice" not in tpuctl("show", "1").out


@pytest.mark.parametrize("stage", list(Stage))
def test_every_stage_has_a_next_step(stage: Stage) -> None:
    """That is a command of ours."""
    assert next_step(make_job(1, stage=stage)).startswith("tpuctl ")


@pytest.mark.parametrize(
    "steps, attempts, expected",
    [
        pytest.param((30, 40), (4, 5), "resume 1 --from-step 30", id="an earlier step"),
        pytest.param((40,), (4, 5), "rerun 1", id="no earlier step"),
        pytest.param((30, 40), (5,), "resume 1 or tpuctl rerun 1", id="once is chance"),
    ],
)
def test_a_checkpoint_that_cannot_be_restored_is_gone_round(
    steps: tuple[int, ...], attempts: tuple[int, ...], expected: str
) -> None:
    """The next step is one that can work."""
    failed = FailedRestore(40, attempts)
    job = make_job(1, stage=Stage.FAILED, steps=steps, failed_restore=failed)

    assert f"tpuctl logs 1, then tpuctl {expected}" == next_step(job)
