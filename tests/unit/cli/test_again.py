"""`tpuctl stop`, `resume` and `rerun`: orders about a job that is there."""

from pathlib import Path

import pytest

from shared.core.spec import from_document
from shared.core.stages import Stage
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import Installed, Launch, Tpuctl, make_job, make_slice, refuse, write


@pytest.fixture
def checkpoints(tmp_path: Path) -> Path:
    """Have a complete checkpoint of step 120, and one of step 140 that is not."""
    folder = tmp_path / "checkpoints"
    write(folder / "120" / "commit_success.txt", "")
    write(folder / "140" / "weights", "0")
    return folder


@pytest.fixture(autouse=True)
def job(installed: Installed, checkpoints: Path) -> None:
    """Have a job that failed in its third attempt."""
    spec = {
        "env": {"A": "1", "B": "2"},
        "on": {"hang": "stop"},
        "checkpoint_dir": str(checkpoints),
    }
    installed.put_job(make_job(4, name="digits", stage=Stage.FAILED, attempt=2, spec=spec))


def test_stop_names_the_job(tpuctl: Tpuctl, launch: Launch) -> None:
    """By its id, and with time for a last checkpoint."""
    result = tpuctl("stop", "4")

    assert 0 == result.code, result.err
    assert {"job": "j00000000004", "kill": False} == launch.args
    assert "job 4 is being stopped\nnext: tpuctl wait 4" in result.out


def test_stop_can_kill(tpuctl: Tpuctl, launch: Launch) -> None:
    """When told to."""
    tpuctl("stop", "digits", "--kill")

    assert launch.args["kill"]


def test_refused_stop_is_exit_1(tpuctl: Tpuctl, launch: Launch) -> None:
    """With the reason on one line."""
    launch.answer = refuse("job 4 has ended\nalready")

    result = tpuctl("stop", "4")

    assert (1, "refused: job 4 has ended already") == (result.code, result.error)


@pytest.mark.parametrize("kind", ["resume", "rerun"])
def test_job_runs_again_as_it_was(tpuctl: Tpuctl, launch: Launch, kind: str) -> None:
    """The attempt that was seen goes along: two users at once must not both win."""
    result = tpuctl(kind, "@last")

    assert 0 == result.code, result.err
    args = launch.args
    assert kind == launch.commands[0]["kind"]
    assert ("j00000000004", 2, None) == (args["job"], args["seen_attempt"], args["spec"])
    assert (None, None, False) == (args["on"], args["from_step"], args["presume_dead"])
    assert 8 == len(args["slice_uid"])
    assert f"job 4 digits runs again ({kind})" in result.out


def test_resume_takes_a_step_a_slice_and_a_word_for_it(tpuctl: Tpuctl, launch: Launch) -> None:
    """What the user knows better."""
    launch.installed.put_slice(make_slice(make_job(), name="warm"))

    tpuctl("resume", "4", "--from-step", "120", "--on", "warm", "--presume-dead")

    args = launch.args
    assert (120, "warm", True) == (args["from_step"], args["on"], args["presume_dead"])


@pytest.mark.parametrize(
    "step, why",
    [
        (100, "job 4 has no checkpoint of step 100; complete: 120"),
        (140, "the checkpoint of step 140 is not complete; complete: 120"),
    ],
    ids=["not there", "not complete"],
)
def test_step_that_cannot_be_restored_is_refused(
    tpuctl: Tpuctl, launch: Launch, step: int, why: str
) -> None:
    """Before anything is ordered, and with the steps that can."""
    result = tpuctl("resume", "4", "--from-step", str(step))

    assert (1, f"--from-step: {why}") == (result.code, result.error)
    assert "tpuctl ckpt ls 4" == result.next_step
    assert [] == launch.commands


def test_values_change_single_arguments(tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs) -> None:
    """Those that stand in the command already, and new ones at its end."""
    result = tpuctl("resume", "4", "lr=3e-5")

    assert 0 == result.code, result.err
    assert ("python", "train.py", "--lr=3e-5") == from_document(launch.args["spec"]).command
    assert 1 == len(blobs.list("control/specs/"))


def test_word_that_is_no_value_is_refused(tpuctl: Tpuctl, launch: Launch) -> None:
    """It would change nothing."""
    result = tpuctl("resume", "4", "faster")

    assert "faster: expected KEY=VALUE, such as lr=3e-5" == result.error
    assert [] == launch.commands


def test_flags_change_parts_of_the_spec(tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs) -> None:
    """Others stay as they were; the new spec is uploaded."""
    result = tpuctl(
        "resume", "4", "--env", "B=3", "--rule", "rerun", "--rule-on", "oom=stop", "--hold-s", "0"
    )

    assert 0 == result.code, result.err
    spec = from_document(launch.args["spec"])
    assert {"A": "1", "B": "3"} == spec.env
    assert {"hang": "stop", "oom": "stop"} == spec.on
    assert ("rerun", 0.0, ("python", "train.py")) == (spec.rule, spec.hold_s, spec.command)
    assert 1 == len(blobs.list("control/specs/"))


def test_new_code_and_a_new_file_are_taken(
    tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs, tmp_path: Path
) -> None:
    """After the fix."""
    file = write(
        tmp_path / "p" / "job.yaml",
        "name: digits\ncommand: [python, other.py]\naccelerator_type: v4-16\n",
    )

    result = tpuctl("rerun", "4", "-f", str(file), "--code", str(file.parent))

    assert 0 == result.code, result.err
    spec = from_document(launch.args["spec"])
    assert ("python", "other.py") == spec.command
    assert spec.code is not None
    assert {} == spec.env
    assert 1 == len(blobs.list("code/"))


def test_file_of_another_job_is_refused(
    tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs, tmp_path: Path
) -> None:
    """A slip of the hand must not overwrite a run."""
    file = write(tmp_path / "job.yaml", "name: other\ncommand: [x]\n")

    result = tpuctl("rerun", "4", "-f", str(file))

    assert 2 == result.code
    assert "the file is of 'other', job 4 is 'digits'" in result.error
    assert [] == launch.commands
    assert [] == blobs.list("")


@pytest.mark.parametrize("command", ["stop", "resume", "rerun", "show", "logs", "wait"])
def test_unknown_job_exits_with_3_and_near_names(
    tpuctl: Tpuctl, launch: Launch, command: str
) -> None:
    """From every command."""
    result = tpuctl(command, "digitz")

    assert (3, "") == (result.code, result.out)
    assert "there is no job 'digitz'; near: digits (4)" == result.error
    assert "tpuctl ps --all" == result.next_step
    assert [] == launch.commands


@pytest.mark.parametrize("command", ["stop", "resume", "rerun"])
def test_orders_need_the_runner(tpuctl: Tpuctl, installed: Installed, command: str) -> None:
    """Said at once."""
    result = tpuctl(command, "4")

    assert (1, "the local runner is not up") == (result.code, result.error)
    assert {0} == set(installed.bus.backlog().values())
