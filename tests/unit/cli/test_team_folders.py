"""Commands of a team's member work in the team's folder of the bucket."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_mock import MockerFixture

from cli.identity import TOKEN_VARIABLE
from shared.core.names import code_object, spec_object
from shared.core.spec import from_document, spec_sha256
from shared.core.stages import Stage
from shared.errors import NotAuthorized
from tests.fakes import FakeBlobs
from tests.identities import ADA, BOB, EVE, mint
from tests.unit.cli.stage import PLACE, Installed, Launch, Tpuctl, make_job, make_slice

TEAM, OTHER = "teams/vision/", "teams/text/"
CLOUD = {
    "project": "proj-1",
    "bucket": "bucket",
    "teams": {
        "vision": {"worker_account": "v@p.iam", "members": [ADA]},
        "text": {"worker_account": "t@p.iam", "members": [EVE]},
    },
}
SHA256 = "5" * 64
CODE = {"sha256": SHA256, "bytes": 4, "object": code_object(SHA256)}


pytestmark = pytest.mark.usefixtures("blobs")


@pytest.fixture(autouse=True)
def deployed(launch: Launch, monkeypatch: pytest.MonkeyPatch, mocker: MockerFixture) -> None:
    """Work in Google's wiring as Ada, over documents and topics of this machine."""
    mocker.patch("shared.wiring.open_store", return_value=launch.installed.store)
    mocker.patch("shared.wiring.open_bus", return_value=launch.installed.bus)
    monkeypatch.setenv(TOKEN_VARIABLE, mint())
    settings = {"wiring": "google", "installation": "abc123", "cloud": CLOUD}
    monkeypatch.setenv("TPUCTL_SETTINGS", json.dumps(settings))


def put_job(installed: Installed, **changes: Any) -> None:
    """Have a job of a team's member that is over."""
    of = {"owner": "ada-example-com", "owner_email": ADA, "folder": TEAM, **changes}
    installed.put_job(make_job(4, stage=Stage.FAILED, **of))


def names(blobs: FakeBlobs) -> list[str]:
    """List what is in the bucket."""
    return [info.name for info in blobs.list("")]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "email, folder",
    [pytest.param(ADA, TEAM, id="in a team"), pytest.param(BOB, "", id="in none")],
)
def test_spec_and_code_go_into_the_own_folder(
    tpuctl: Tpuctl,
    launch: Launch,
    blobs: FakeBlobs,
    monkeypatch: pytest.MonkeyPatch,
    email: str,
    folder: str,
) -> None:
    """The spec does not say which: it is the same in every team."""
    monkeypatch.setenv(TOKEN_VARIABLE, mint(email))

    result = tpuctl("run", *PLACE, "--code", ".", "--", "true")

    assert 0 == result.code, result.err
    spec = from_document(launch.args["spec"])
    assert spec.code is not None
    assert code_object(spec.code.sha256) == spec.code.object
    expected = {spec_object(spec_sha256(spec), folder), code_object(spec.code.sha256, folder)}
    assert expected == set(names(blobs))


def test_logs_are_read_from_the_jobs_folder(
    tpuctl: Tpuctl, installed: Installed, blobs: FakeBlobs
) -> None:
    """Not from the reader's own: an admin reads them too."""
    job = make_job(4, owner="ada-example-com", owner_email=ADA, folder=OTHER)
    installed.put_slice(make_slice(installed.put_job(job), hosts=1))
    blobs.put(f"{OTHER}logs/{job.id}/0/0/000000.log", b"theirs\n")
    blobs.put(f"{TEAM}logs/{job.id}/1/0/000000.log", b"not theirs\n")
    blobs.put(f"logs/{job.id}/2/0/000000.log", b"nor these\n")

    assert "theirs\n" == tpuctl("logs", job.id).out


def test_what_changes_goes_into_the_folder_of_the_jobs_owner(
    tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has it go on: launch looks for it there."""
    put_job(launch.installed)
    monkeypatch.setenv(TOKEN_VARIABLE, mint(EVE))

    result = tpuctl("rerun", "j00000000004", "--env", "A=1")

    assert 0 == result.code, result.err
    spec = from_document(launch.args["spec"])
    assert [spec_object(spec_sha256(spec), TEAM)] == names(blobs)


def test_what_is_there_already_is_not_uploaded_again(
    tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs
) -> None:
    """A job in its own folder goes on as it was."""
    put_job(launch.installed)

    assert 0 == tpuctl("resume", "4").code
    assert (None, []) == (launch.args["spec"], names(blobs))


def test_a_job_follows_its_owner_into_another_team(
    tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs
) -> None:
    """With its code, as far as that can still be read."""
    put_job(launch.installed, folder=OTHER, spec={"code": CODE})
    blobs.put(code_object(SHA256, OTHER), b"code")

    result = tpuctl("rerun", "4")

    assert 0 == result.code, result.err
    spec = from_document(launch.args["spec"])
    assert spec_object(spec_sha256(spec), TEAM) in names(blobs)
    copied = blobs.get(code_object(SHA256, TEAM))
    assert copied is not None
    assert b"code" == copied.data


@pytest.mark.parametrize("is_forbidden", [True, False], ids=["forbidden", "gone"])
def test_code_that_cannot_be_read_is_asked_for(
    tpuctl: Tpuctl, launch: Launch, blobs: FakeBlobs, *, is_forbidden: bool
) -> None:
    """Before anything is ordered."""
    put_job(launch.installed, folder=OTHER, spec={"code": CODE})
    if is_forbidden:
        blobs.plan.fail_next("get", NotAuthorized("forbidden"))

    result = tpuctl("rerun", "4")

    expected = f"the job's code cannot be read: {code_object(SHA256, OTHER)}"
    assert (1, expected) == (result.code, result.error)
    assert "say where the code is: --code FOLDER" == result.next_step
    assert ([], []) == (launch.commands, names(blobs))
