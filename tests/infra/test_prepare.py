"""What must be there before terraform runs, and what is said when it is not."""

from __future__ import annotations

import pytest

from infra import lifecycle
from tests.infra.fake_programs import Programs, run

WHERE = ("destroy", "--project=my-lab", "--region=europe-west4")
REFUSALS = [
    pytest.param(
        "projects describe", "ERROR: no permission", "example-project cannot be read", id="project"
    ),
    pytest.param(
        "projects describe",
        "ERROR: (gcloud.projects.describe) You do not currently have an active account selected.\n"
        "Please run:\n\n  $ gcloud auth login\n\nto obtain new credentials.",
        "active account selected; next: gcloud auth login\n",
        id="not logged in",
    ),
    pytest.param(
        "print-access-token", "", "gcloud auth application-default login", id="no credentials"
    ),
    pytest.param(
        "services enable",
        "ERROR: PERMISSION_DENIED: serviceusage.services.enable",
        "serviceusage.services.enable",
        id="no right to enable",
    ),
    pytest.param(
        "buckets describe", "ERROR: 403 storage.buckets.get", "storage.buckets.get", id="state"
    ),
    pytest.param(
        "buckets create", "ERROR: billing is disabled", "billing is disabled", id="no billing"
    ),
    pytest.param(
        "buckets create",
        "ERROR: (gcloud.storage.buckets.create) HTTPError 409: The requested bucket name is not"
        " available.",
        "PREFIX=another",
        id="state bucket of somebody else",
    ),
    pytest.param("versions add", "ERROR: 403 add", "403 add", id="no right to add a secret"),
]


@pytest.mark.parametrize("command, complaint, says", REFUSALS)
def test_what_google_refuses_is_one_line(
    programs: Programs,
    capfd: pytest.CaptureFixture[str],
    command: str,
    complaint: str,
    says: str,
) -> None:
    """The last line of gcloud, and what to do."""
    programs.fails(command, f"some more\n{complaint}\n")

    code = run("deploy", "--yes=1")

    errors = capfd.readouterr().err
    assert (1, 1) == (code, errors.count("\n"))
    assert says in errors
    assert [] == [call for call in programs.called(" apply ") if "-target" not in call]


@pytest.mark.parametrize("name", ["gcloud", "terraform"])
def test_a_missing_program_is_named(
    programs: Programs, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    """With where to get it."""
    programs.remove(name)

    code = run("plan")

    assert 1 == code
    assert capfd.readouterr().err.startswith(f"error: {name} is not on PATH; next: install")


def test_a_region_without_functions_is_refused(
    programs: Programs, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the near one, before anything is made."""
    code = run("deploy", "--region=europe-west44")

    assert 1 == code
    assert "did you mean europe-west4?" in capfd.readouterr().err
    assert [] == programs.called("buckets create|init")


def test_a_deployment_does_not_move(deployed: Programs, capfd: pytest.CaptureFixture[str]) -> None:
    """Another region would be another database: data would be lost."""
    code = run("deploy", "--region=us-central1", "--yes=1")

    assert 1 == code
    assert "is deployed in europe-west4" in capfd.readouterr().err
    assert [] == deployed.called(" apply ")


@pytest.mark.parametrize(
    "arguments, says",
    [
        pytest.param(("deploy", "--region=r"), "PROJECT is missing", id="project"),
        pytest.param(("destroy", "--project=p"), "REGION is missing", id="region"),
        pytest.param((*WHERE, "--delete-data=1"), "DELETE_DATA is yes or nothing", id="data"),
        pytest.param((*WHERE, "--project=My Lab"), "PROJECT: 'My' is no project id", id="name"),
        pytest.param((*WHERE, "--project=123456789"), "PROJECT: '123456789' is no", id="number"),
        pytest.param((*WHERE, "--region=europe-west4-b"), "REGION: 'europe-west4-b'", id="a zone"),
        pytest.param((*WHERE, "--zones=us-central2"), "ZONES: 'us-central2' is no zone", id="zone"),
        pytest.param((*WHERE, "--prefix=a-b-"), "PREFIX: 'a-b-' is no prefix", id="prefix"),
    ],
)
def test_what_is_not_said_is_asked_for(
    capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    """Before any program runs."""
    with pytest.raises(SystemExit) as end:
        lifecycle.main(list(arguments))

    assert 2 == end.value.code
    assert says in capfd.readouterr().err
