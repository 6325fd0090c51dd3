"""make plan and deploy: what they run, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infra.fake_programs import BUCKET, DATABASE, Programs, run


def test_the_first_deploy_makes_things_in_their_order(programs: Programs) -> None:
    """State before terraform, secrets before what reads them."""
    code = run("deploy", "--yes=1")

    steps = [
        "gcloud services enable",
        "gcloud storage buckets create gs://example-project-tpuctl-tfstate",
        "init .*-backend-config=bucket=example-project-tpuctl-tfstate",
        "apply -auto-approve .*-target=google_secret_manager_secret.token",
        "gcloud secrets versions add tpuctl-token",
        "apply -auto-approve .*-var=zones=[^ ]*$",
    ]
    places = [programs.calls.index(programs.called(step)[0]) for step in steps]
    assert 0 == code
    assert sorted(places) == places


def test_the_first_deploy_says_what_it_makes_and_what_comes_next(
    programs: Programs,  # noqa: ARG001 - they are on PATH
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Nothing is made in silence."""
    run("deploy", "--yes=1")

    said = capfd.readouterr().out
    assert "making gs://example-project-tpuctl-tfstate" in said
    assert "making the first version of the secret tpuctl-token" in said
    assert "next: tpuctl init --from-terraform infra" in said


def test_the_secret_is_random_and_on_no_command_line(programs: Programs) -> None:
    """Whoever lists processes learns nothing."""
    run("deploy", "--yes=1")
    run("deploy", "--yes=1")

    first, second = programs.given("secrets versions add tpuctl-token")
    assert [64, 64] == [len(first), len(second)]
    assert first != second
    assert not any(first in call for call in programs.calls)


def test_a_deploy_waits_for_a_yes(programs: Programs) -> None:
    """Terraform asks; only the empty secrets are made without."""
    run("deploy")

    (final,) = [call for call in programs.called(" apply ") if "-target" not in call]
    assert "-auto-approve" not in final


def test_a_second_deploy_makes_neither_state_nor_secret(deployed: Programs) -> None:
    """What is there stays."""
    code = run("deploy", "--yes=1")

    assert 0 == code
    assert [] == deployed.called("buckets create|versions add|import")


def test_a_deploy_takes_back_what_a_destroy_left(deployed: Programs) -> None:
    """Data that was kept is used again."""
    deployed.answer("terraform .* state list", "")
    deployed.answer("firestore databases describe", "there")

    run("deploy", "--yes=1")

    imports = deployed.called(" import ")
    assert imports[0].endswith(f"{BUCKET} example-project-tpuctl")
    assert imports[1].endswith(f"{DATABASE} projects/example-project/databases/tpuctl")


def test_a_database_of_another_name_is_taken_back(deployed: Programs, tmp_path: Path) -> None:
    """Its name may stand in the user's own file."""
    (tmp_path / "terraform.tfvars").write_text('database = "(default)"\n', "utf-8")
    deployed.answer("terraform .* state list", BUCKET)
    deployed.answer("firestore databases describe --database=.default.", "there")

    run("deploy", "--yes=1")

    (line,) = deployed.called(" import ")
    assert line.endswith(f"{DATABASE} projects/example-project/databases/(default)")


def test_plan_changes_nothing(deployed: Programs) -> None:
    """It only asks terraform."""
    code = run("plan")

    assert 0 == code
    assert 1 == len(deployed.called("terraform .* plan "))
    assert [] == deployed.called(" apply | destroy | import |versions add|buckets create")


def test_zones_stay_as_they_are_deployed(deployed: Programs) -> None:
    """Whoever deploys again need not know them."""
    run("plan", "--zones=")

    (line,) = deployed.called("terraform .* plan ")
    assert line.endswith('-var=zones=["europe-west4-b", "us-central2-b"]')


def test_zones_may_stand_in_the_users_own_file(programs: Programs, tmp_path: Path) -> None:
    """Then the command line leaves them alone."""
    (tmp_path / "terraform.tfvars").write_text('zones = ["us-central2-b"]\n', "utf-8")

    code = run("plan", "--zones=")

    assert 0 == code
    assert "-var=zones" not in programs.called("terraform .* plan ")[0]


def test_googles_own_account_is_there_before_it_gets_rights(programs: Programs) -> None:
    """Else the first deploy would fail half way."""
    run("deploy", "--yes=1")

    made = programs.calls.index(programs.called("services identity create")[0])
    assert made < programs.calls.index(programs.called(" apply ")[0])


def test_the_function_zip_is_packaged(deployed: Programs, tmp_path: Path) -> None:
    """From the source as it is now."""
    run("plan")

    zip_path = tmp_path / "functions.zip"
    assert zip_path.stat().st_size > 0
    assert f"-var=source_zip={zip_path}" in deployed.called(" plan ")[0]


def test_zones_must_be_said_once(
    programs: Programs,  # noqa: ARG001 - they are on PATH
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Nobody guesses where slices may cost money."""
    code = run("plan", "--zones=")

    assert 1 == code
    assert "ZONES is missing" in capfd.readouterr().err


def test_a_webhook_without_an_address_stops_the_deploy(
    deployed: Programs, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its function would not start; the key is made, the address only its owner knows."""
    deployed.answer("secrets versions list tpuctl-webhook", "")

    code = run("deploy", "--yes=1")

    assert 1 == code
    assert "secrets versions add tpuctl-webhook-url-ci" in capfd.readouterr().err
    assert 1 == len(deployed.called("versions add tpuctl-webhook-key-ci"))
    assert [] == [call for call in deployed.called(" apply ") if "-target" not in call]


def test_terraforms_own_failure_is_the_exit_code(deployed: Programs) -> None:
    """And nothing follows it."""
    deployed.answer("terraform .* init", code=7)

    code = run("deploy", "--yes=1")

    assert 7 == code
    assert [] == deployed.called(" apply ")
