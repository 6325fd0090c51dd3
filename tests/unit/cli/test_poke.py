"""`tpuctl poke`: who is woken in which wiring, and what is said when nobody wakes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from cli import local_runner
from sandbox.processes import start_time
from shared import wiring
from shared.app.seal import Seal, put_seal
from shared.errors import ControlPlaneError, InvalidRequest, NotAuthorized, RateLimited
from tests.unit.cli.poked import CLOUD, FakeTicker, Woken, ticked
from tests.unit.cli.stage import Installed, Tpuctl, ago, now, write

JOB = "projects/lab-project/locations/europe-west4/jobs/tpuctl-tick"


def note(path: Path) -> None:
    """Leave the note of a process that is up: this one."""
    me = {"pid": os.getpid(), "started": start_time(os.getpid()), "endpoint": ""}
    write(path, json.dumps(me))


def test_the_local_runner_is_woken(tpuctl: Tpuctl, installed: Installed, woken: Woken) -> None:
    """And the last tick says whether there was any need."""
    installed.pretend_up()
    ticked(installed, ago(72))

    result = tpuctl("poke")

    assert (0, 1) == (result.code, woken.count), result.err
    expected = f"woke the local runner, process {os.getpid()}; the last tick began 1m12s ago\n"
    assert f"{expected}next: tpuctl ps\n" == result.out


def test_a_control_plane_that_never_ticked_says_so(
    tpuctl: Tpuctl, installed: Installed, woken: Woken
) -> None:
    """It has only just been started."""
    installed.pretend_up()

    result = tpuctl("poke")

    assert 1 == woken.count
    assert "; no tick has begun yet\n" in result.out


def test_a_box_is_woken(tpuctl: Tpuctl, installed: Installed, woken: Woken) -> None:
    """As the process that it is."""
    write(installed.home / "settings.toml", f'wiring = "box"\n{CLOUD}')
    note(installed.home / "runner.json")

    result = tpuctl("poke")

    assert (0, 1) == (result.code, woken.count), result.err
    assert result.out.startswith(f"woke the box, process {os.getpid()}; ")


@pytest.mark.parametrize("name", ["FIRESTORE_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST"])
@pytest.mark.usefixtures("ticker")
def test_beside_the_emulators_the_stand_in_is_woken(
    tpuctl: Tpuctl,
    installed: Installed,
    woken: Woken,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """What is deployed under the same project is left alone."""
    monkeypatch.setenv(name, "127.0.0.1:9")
    note(installed.home / "served.json")

    result = tpuctl("poke")

    assert (0, 1) == (result.code, woken.count), result.err
    assert result.out.startswith(f"woke the stand-in for Cloud Scheduler, process {os.getpid()}; ")


@pytest.mark.parametrize(
    "settings, error, step",
    [
        pytest.param("", "the local runner is not up", "tpuctl local up", id="embedded"),
        pytest.param(f'wiring = "box"\n{CLOUD}', "the box is not up", "tpuctl box up", id="box"),
    ],
)
def test_nobody_is_there_to_be_woken(
    tpuctl: Tpuctl, installed: Installed, settings: str, error: str, step: str
) -> None:
    """In one line, with what would bring it up."""
    write(installed.home / "settings.toml", settings)

    result = tpuctl("poke")

    assert (1, "", error, step) == (result.code, result.out, result.error, result.next_step)


def test_a_stand_in_that_is_not_up_is_missed(
    tpuctl: Tpuctl, ticker: FakeTicker, installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perhaps the emulators are named by mistake."""
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:9")

    result = tpuctl("poke")

    assert 1 == result.code
    assert f"the stand-in for Cloud Scheduler is not up in {installed.home}" == result.error
    assert result.next_step.startswith("unset FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST")
    assert 0 == ticker.fired


def test_what_is_deployed_is_woken_through_its_scheduler(
    tpuctl: Tpuctl, ticker: FakeTicker, installed: Installed
) -> None:
    """Named by its job and region."""
    ticked(installed, ago(42))

    result = tpuctl("poke")

    assert (0, 1) == (result.code, ticker.fired), result.err
    expected = "woke tpuctl-tick of Cloud Scheduler in europe-west4; the last tick began 42s ago\n"
    assert f"{expected}next: tpuctl ps\n" == result.out


def test_sealed_documents_are_not_looked_at(
    tpuctl: Tpuctl, ticker: FakeTicker, installed: Installed
) -> None:
    """A tick would do nothing there: nobody waits for one."""
    put_seal(installed.store, Seal(now(), "tpuctl import", "its jobs move"))

    result = tpuctl("poke", "--wait")

    assert (1, 0) == (result.code, ticker.fired)
    assert "sealed" in result.error


@pytest.mark.parametrize(
    "answer, step",
    [
        pytest.param(
            InvalidRequest(f"no scheduler job {JOB}: was it deployed in this region?"),
            "tpuctl init --from-terraform infra writes which region was deployed",
            id="no job",
        ),
        pytest.param(
            NotAuthorized(f"{JOB}: permission denied"),
            "whoever deployed it adds you to users or teams in infra/terraform.tfvars: "
            "docs/deploy.md",
            id="no right",
        ),
        pytest.param(
            NotAuthorized(f"{JOB}: Cloud Scheduler API has not been used in project lab-project"),
            "gcloud services enable firestore.googleapis.com pubsub.googleapis.com "
            "storage.googleapis.com cloudscheduler.googleapis.com --project lab-project",
            id="API is off",
        ),
        pytest.param(
            RateLimited(f"{JOB}: too many"),
            "try again; the logs of the functions say more: docs/deploy.md",
            id="too often",
        ),
    ],
)
def test_what_the_scheduler_refuses_is_told(
    tpuctl: Tpuctl, ticker: FakeTicker, answer: ControlPlaneError, step: str
) -> None:
    """With the step that helps."""
    ticker.answer = answer

    result = tpuctl("poke")

    assert (1, "") == (result.code, result.out)
    assert (str(answer), step) == (result.error, result.next_step)


def test_without_a_region_no_job_is_looked_for(
    tpuctl: Tpuctl, installed: Installed, mocker: MockerFixture
) -> None:
    """The setting that is missing is named."""
    cloud = CLOUD.replace('region = "europe-west4"\n', "")
    write(installed.home / "settings.toml", f'wiring = "google"\n{cloud}')
    mocker.patch.object(wiring, "open_store", return_value=installed.store)

    result = tpuctl("poke")

    assert (1, "cloud.region: is missing: the scheduler job is in one") == (
        result.code,
        result.error,
    )


def test_another_users_process_is_not_woken(
    tpuctl: Tpuctl, installed: Installed, mocker: MockerFixture
) -> None:
    """One line, no trace."""
    installed.pretend_up()
    mocker.patch.object(os, "kill", side_effect=PermissionError)

    result = tpuctl("poke")

    assert (1, "") == (result.code, result.out)
    assert f"process {os.getpid()} is another user's" == result.error


def test_a_process_that_just_ended_is_no_bug(mocker: MockerFixture) -> None:
    """Its successor ticks when it comes up."""
    kill = mocker.patch.object(os, "kill", side_effect=ProcessLookupError)

    local_runner.poke(local_runner.RunnerInfo(8, "1", ""))

    kill.assert_called_once_with(8, local_runner.POKE)


def test_both_ends_mean_the_same_signal() -> None:
    """The command line starts without the functions, so each has its own name for it."""
    from functions import ticks

    assert ticks.POKE == local_runner.POKE
