"""`tpuctl init`: what is written, what is refused, and what is asked of Google first."""

import json
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import google.auth
import pytest
from google.auth.exceptions import DefaultCredentialsError
from pytest_mock import MockerFixture, MockType

from cli import box_checks
from shared import settings as home_settings
from shared import wiring
from shared.errors import (
    ControlPlaneError,
    InvalidRequest,
    NoAccess,
    NotAuthorized,
    Unavailable,
)
from shared.settings import Wiring
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import Tpuctl, write

BOX = ("init", "--box", "--project", "lab-project", "--bucket", "lab-bucket")
GOOGLE = ("init", "--project", "lab-project", "--region", "europe-west4")
API_OFF = (
    "Cloud TPU API has not been used in project 1 before or it is disabled."
    " Enable it by visiting the console [reason: SERVICE_DISABLED]"
)


def written(home: Path) -> dict[str, Any]:
    """Return the settings that stand in the home."""
    return tomllib.loads((home / "settings.toml").read_text("utf-8"))


@pytest.fixture
def cloud(mocker: MockerFixture) -> dict[str, MockType]:
    """Take the place of Google; everything is there."""
    mocker.patch.object(google.auth, "default", return_value=(None, "lab-project"))
    slices = mocker.Mock()
    slices.get.return_value = None
    mocker.patch.object(wiring, "open_slices", return_value=slices)
    blobs = FakeBlobs()
    mocker.patch.object(wiring, "open_blobs", return_value=blobs)
    put = mocker.patch.object(blobs, "put", wraps=blobs.put)
    return {
        "declare": mocker.patch.object(wiring, "declare_box"),
        "put": put,
        "get": slices.get,
    }


# --- What is written -----------------------------------------------------------------------------


def test_box_is_written_as_it_was_said(tpuctl: Tpuctl, home: Path) -> None:
    """And shown, with the next command."""
    result = tpuctl(*BOX, "--zone", "us-central2-b", "--no-check")

    cloud = {
        "project": "lab-project",
        "bucket": "lab-bucket",
        "prefix": "tpuctl",
        "zones": ["us-central2-b"],
    }
    assert (0, {"wiring": "box", "cloud": cloud}) == (result.code, written(home))
    assert '  project = "lab-project"\n' in result.out
    assert result.out.endswith("next: tpuctl box up\n")
    assert Wiring.BOX is home_settings.load().wiring


def test_box_without_a_bucket_has_the_one_that_terraform_would_make(
    tpuctl: Tpuctl, home: Path
) -> None:
    """So that it can move to functions later."""
    assert 0 == tpuctl("init", "--box", "--project", "lab-project", "--no-check").code

    assert "lab-project-tpuctl" == written(home)["cloud"]["bucket"]


def test_google_by_options_is_what_terraform_makes_by_default(tpuctl: Tpuctl, home: Path) -> None:
    """The installation's id follows from project and prefix, as in infra/settings.tf."""
    assert 0 == tpuctl(*GOOGLE).code

    found = written(home)
    assert ("google", "t7c568") == (found["wiring"], found["installation"])
    assert "lab-project-tpuctl" == found["cloud"]["bucket"]
    assert "tpuctl" == found["cloud"]["database"]


def test_the_same_settings_again_change_nothing(tpuctl: Tpuctl, home: Path) -> None:
    """Scripts may repeat it."""
    tpuctl(*BOX, "--no-check")

    result = tpuctl(*BOX, "--no-check")

    told = f"{home / 'settings.toml'} says this already\nnext: tpuctl box up\n"
    assert (0, told) == (result.code, result.out)


def test_other_settings_are_replaced_only_when_forced(tpuctl: Tpuctl, home: Path) -> None:
    """An installation's jobs stay where they are."""
    write(home / "settings.toml", "[policy]\ntick_s = 1\n")

    refused = tpuctl(*BOX, "--no-check")
    before = written(home)
    forced = tpuctl(*BOX, "--no-check", "--force")

    assert (1, {"policy": {"tick_s": 1}}) == (refused.code, before)
    assert f"{home / 'settings.toml'} says something else already" == refused.error
    assert refused.next_step.startswith("--force replaces it")
    assert (0, "box") == (forced.code, written(home)["wiring"])


def test_jobs_of_a_simulated_cloud_become_no_box(tpuctl: Tpuctl, home: Path) -> None:
    """Their slices are in no real cloud; not even by force."""
    wiring.open_local_store(home_settings.load()).close()

    result = tpuctl(*BOX, "--no-check", "--force")

    assert (1, f"{home} holds the jobs of a simulated cloud") == (result.code, result.error)
    assert not (home / "settings.toml").exists()


def test_settings_that_cannot_be_read_can_be_replaced(tpuctl: Tpuctl, home: Path) -> None:
    """Nothing else helps then."""
    write(home / "settings.toml", "wiring = ")

    assert 1 == tpuctl(*BOX, "--no-check").code
    assert 0 == tpuctl(*BOX, "--no-check", "--force").code


@pytest.mark.parametrize(
    "words, error",
    [
        pytest.param(("--box",), "--project is missing", id="box without a project"),
        pytest.param(("--project", "lab-project"), "--region is missing", id="no region"),
        pytest.param(
            ("--box", "--project", "Lab!"),
            "the options: cloud.project: 'Lab!' is no project id",
            id="project",
        ),
        pytest.param(
            (*BOX[1:], "--prefix", "-x"),
            "the options: cloud.prefix: expected 2 to 20 letters, digits, dashes: '-x'",
            id="prefix",
        ),
        pytest.param(
            ("--box", "--project", "lab-project", "--bucket", "gs://lab"),
            "--bucket: 'gs://lab' is no bucket's name",
            id="bucket as an address",
        ),
        pytest.param(
            (*GOOGLE[1:3], "--region", "europe-west4-a"),
            "--region: 'europe-west4-a' is no region",
            id="zone as a region",
        ),
        pytest.param((*BOX[1:], "--zone", "mars"), "--zone: 'mars' is no zone", id="zone"),
        pytest.param(
            ("--box", "--from-terraform", "infra"),
            "--from-terraform says everything itself",
            id="two sources",
        ),
    ],
)
def test_wrong_options_are_one_line(
    tpuctl: Tpuctl, home: Path, words: tuple[str, ...], error: str
) -> None:
    """Before anything is asked or written."""
    result = tpuctl("init", *words)

    assert (2, error) == (result.code, result.error)
    assert result.next_step
    assert not (home / "settings.toml").exists()


# --- What is asked first -------------------------------------------------------------------------


def test_box_is_checked_before_it_is_written(
    tpuctl: Tpuctl, cloud: dict[str, MockType], home: Path
) -> None:
    """Its subscription is made, its bucket written to, Cloud TPU asked."""
    result = tpuctl(*BOX)

    assert 0 == result.code, result.err
    assert [
        "good: topic tpuctl-reports, subscription tpuctl-box-reports that never expires",
        "good: bucket lab-bucket, writable",
        "good: Cloud TPU, asked in us-central2-b",
    ] == result.out.splitlines()[:3]
    cloud["declare"].assert_called_once()
    assert box_checks.PROBE == cloud["put"].call_args.args[0]
    assert (home / "settings.toml").exists()


@pytest.mark.parametrize(
    "part, error, told, fix",
    [
        pytest.param(
            "declare",
            NotAuthorized(API_OFF),
            "missing: Pub/Sub: the API pubsub.googleapis.com is not enabled in lab-project",
            "gcloud services enable pubsub.googleapis.com --project lab-project",
            id="API not enabled",
        ),
        pytest.param(
            "declare",
            NotAuthorized("User not authorized"),
            "missing: Pub/Sub: the role roles/pubsub.editor is missing (User not authorized)",
            "gcloud projects add-iam-policy-binding lab-project"
            ' --member "user:$(gcloud config get account)" --role roles/pubsub.editor',
            id="no right to Pub/Sub",
        ),
        pytest.param(
            "declare",
            InvalidRequest("Requested project not found"),
            "missing: Pub/Sub refuses the project lab-project (Requested project not found)",
            "gcloud projects list",
            id="no such project",
        ),
        pytest.param(
            "put",
            InvalidRequest("The specified bucket does not exist."),
            "missing: there is no bucket lab-bucket (The specified bucket does not exist.)",
            "gcloud storage buckets create gs://lab-bucket --project lab-project"
            " --uniform-bucket-level-access --public-access-prevention",
            id="no bucket",
        ),
        pytest.param(
            "put",
            NotAuthorized("no storage.objects.create"),
            "missing: the bucket lab-bucket: the role roles/storage.objectUser is missing"
            " (no storage.objects.create)",
            "gcloud storage buckets add-iam-policy-binding gs://lab-bucket"
            ' --member "user:$(gcloud config get account)" --role roles/storage.objectUser',
            id="bucket not writable",
        ),
        pytest.param(
            "get",
            NoAccess("Location us-central2-b is not found or access is unauthorized."),
            "missing: Cloud TPU: Location us-central2-b is not found or access is unauthorized.",
            "name a zone that the project may use: --zone",
            id="zone not allowed",
        ),
        pytest.param(
            "get",
            Unavailable("timed out"),
            "missing: Cloud TPU did not answer (timed out)",
            "try again, or --no-check",
            id="no answer",
        ),
    ],
)
def test_what_is_missing_is_named_with_what_mends_it(  # noqa: PLR0913, PLR0917 - one table
    tpuctl: Tpuctl,
    cloud: dict[str, MockType],
    home: Path,
    part: str,
    error: ControlPlaneError,
    told: str,
    fix: str,
) -> None:
    """The rest is checked too, and nothing is written."""
    cloud[part].side_effect = error

    result = tpuctl(*BOX)

    assert [told, f"  mend it with: {fix}"] == result.err.splitlines()[:2]
    assert (1, "one thing is missing, nothing was written") == (result.code, result.error)
    assert 2 == result.out.count("good: ")
    assert not (home / "settings.toml").exists()


def test_without_an_account_nothing_else_is_asked(
    tpuctl: Tpuctl, cloud: dict[str, MockType], mocker: MockerFixture
) -> None:
    """One line, not one for every service."""
    mocker.patch.object(google.auth, "default", side_effect=DefaultCredentialsError("none"))

    result = tpuctl(*BOX)

    assert 1 == result.code
    assert "no Google account is logged in" in result.err
    assert "gcloud auth application-default login" in result.err
    cloud["declare"].assert_not_called()


# --- From Terraform ------------------------------------------------------------------------------

TABLES = {
    "wiring": "google",
    "installation": "t12345",
    "cloud": {
        "project": "lab-project",
        "bucket": "lab-project-tpuctl",
        "database": "tpuctl",
        "network": "",
        "audiences": [],
        "external_ips": False,
        "zones": ["europe-west4-b"],
        "teams": {"vision": {"worker_account": "v@lab", "members": ["ada@example.com"]}},
    },
    "policy": {},
}
OUTPUTS = json.dumps({"settings": {"value": TABLES, "type": ["object", {}], "sensitive": False}})
Terraform = Callable[[str, int, str], MockType]


@pytest.fixture
def terraform(mocker: MockerFixture) -> Terraform:
    """Take the place of the program."""

    def play(out: str, code: int, err: str) -> MockType:
        done = subprocess.CompletedProcess([], code, out, err)
        return mocker.patch("cli.terraform.subprocess.run", return_value=done)

    return play


def test_terraform_is_asked_for_its_outputs(
    tpuctl: Tpuctl, terraform: Terraform, home: Path, tmp_path: Path
) -> None:
    """What says nothing is left out; teams and false are kept."""
    asked = terraform(OUTPUTS, 0, "")

    result = tpuctl("init", "--from-terraform", str(tmp_path))

    assert 0 == result.code, result.err
    assert f"-chdir={tmp_path}" in asked.call_args.args[0]
    found = written(home)
    assert {"wiring", "installation", "cloud"} == set(found)
    assert not {"network", "audiences"} & set(found["cloud"])
    assert found["cloud"]["external_ips"] is False
    assert "v@lab" == home_settings.load().google.people.bounds_of("ada@example.com").worker_account


@pytest.mark.parametrize(
    "text", [pytest.param(OUTPUTS, id="all"), pytest.param(json.dumps(TABLES), id="settings only")]
)
def test_outputs_can_come_from_a_file(
    tpuctl: Tpuctl, home: Path, tmp_path: Path, text: str
) -> None:
    """Whoever deployed may be somebody else."""
    saved = write(tmp_path / "outputs.json", text)

    assert 0 == tpuctl("init", "--from-terraform", str(saved)).code
    assert "t12345" == written(home)["installation"]


def test_outputs_can_come_from_a_pipe(
    tpuctl: Tpuctl, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`terraform output -json | tpuctl init --from-terraform -`."""
    with write(tmp_path / "outputs.json", OUTPUTS).open() as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        assert 0 == tpuctl("init", "--from-terraform", "-").code

    assert "google" == written(home)["wiring"]


@pytest.mark.parametrize(
    "answer, error",
    [
        pytest.param(("{}", 0, ""), "has no output settings", id="nothing applied"),
        pytest.param(("no", 0, ""), "is not what terraform output -json prints", id="no JSON"),
        pytest.param(
            ("", 1, "\n╷\n│ Error: Backend initialization required\n│ \n"),
            ": Backend initialization required",
            id="not initialised",
        ),
        pytest.param(
            ("", 1, "There are problems:\n╷\n│ Warning: no file\n╵\n\nError: Backend changed\n"),
            ": Backend changed",
            id="a warning first",
        ),
    ],
)
def test_terraform_that_tells_nothing_is_one_line(
    tpuctl: Tpuctl,
    terraform: Terraform,
    tmp_path: Path,
    answer: tuple[str, int, str],
    error: str,
) -> None:
    """With the command that makes it tell."""
    terraform(*answer)

    result = tpuctl("init", "--from-terraform", str(tmp_path))

    assert 1 == result.code
    assert result.error.endswith(error) or error in result.error
    assert "terraform" in result.next_step


def test_terraform_that_is_not_there_is_one_line(
    tpuctl: Tpuctl, mocker: MockerFixture, tmp_path: Path
) -> None:
    """A file does as well."""
    mocker.patch("cli.terraform.subprocess.run", side_effect=FileNotFoundError)

    result = tpuctl("init", "--from-terraform", str(tmp_path))

    assert (1, "terraform is not on the PATH") == (result.code, result.error)


def test_file_that_is_not_there_is_one_line(tpuctl: Tpuctl) -> None:
    """It is named."""
    result = tpuctl("init", "--from-terraform", "nowhere.json")

    assert "nowhere.json cannot be read: No such file or directory" == result.error


def test_wrong_table_of_terraform_names_the_key(tpuctl: Tpuctl, tmp_path: Path) -> None:
    """And where it came from."""
    saved = write(tmp_path / "o.json", json.dumps({**TABLES, "polcy": {"tick_s": 1}}))

    result = tpuctl("init", "--from-terraform", str(saved))

    assert (2, f"{saved}: polcy: is no setting; did you mean policy?") == (
        result.code,
        result.error,
    )
