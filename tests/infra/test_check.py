"""``make infra-check``: it can fail, and where it cannot run it says so and is not green."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.infra import check, faults, plans
from tests.infra.fake_programs import Programs, install
from tests.infra.faults import Fault
from tests.infra.terraform import WRAPPER_VARIABLE, NoTerraform, workspace

NO_SCHEMA = (
    f"${WRAPPER_VARIABLE} names no program that runs terraform with the provider's schema;"
    " make infra-check does the same and fails without one"
)
NO_TERRAFORM = "there is no terraform on PATH to format with"


@pytest.fixture(name="programs")
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Give a terraform that does what a test tells it."""
    monkeypatch.delenv(WRAPPER_VARIABLE, raising=False)
    return install(tmp_path, monkeypatch)


def test_without_terraform_it_fails_in_one_line(
    programs: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Never green, never a stack."""
    programs.remove("terraform")

    code = check.main([])

    assert check.CANNOT == code
    assert capsys.readouterr().err.startswith("error: there is no terraform on PATH; next: install")


def test_without_the_provider_it_fails_in_one_line(
    programs: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """With terraform's own words, and where else the schema may come from."""
    programs.fails(" init ", "│ Error: Failed to query available provider packages\n")

    code = check.main([])

    error = capsys.readouterr().err
    assert check.CANNOT == code
    assert 1 == len(error.strip().splitlines())
    assert "Failed to query available provider packages" in error
    assert WRAPPER_VARIABLE in error


def test_a_wrapper_that_is_not_there_is_named(
    programs: Programs,  # noqa: ARG001 - terraform itself is there
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A typo in the variable is no missing provider."""
    monkeypatch.setenv(WRAPPER_VARIABLE, "/nowhere/terraform-offline")

    code = check.main([])

    assert check.CANNOT == code
    assert "/nowhere/terraform-offline cannot be run" in capsys.readouterr().err


def test_without_checkov_it_fails_in_one_line(
    programs: Programs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A scan that did not run is not clean."""
    programs.answer("terraform")
    monkeypatch.setattr(check, "CHECKOV", tmp_path / "checkov")

    with workspace() as space, pytest.raises(NoTerraform, match="checkov"):
        check.scanned(space)


def test_a_check_leaves_nothing_in_the_tree(programs: Programs) -> None:
    """It works on a copy, without what belongs to a deployment."""
    with workspace() as space:
        copied = {each.name for each in (space.folder / "infra").iterdir()}

    (line,) = programs.called(" init ")
    assert {"topics.tf", "modules", "firestore.rules"} <= copied
    assert set() == copied & {".terraform", "backend.tf", "terraform.tfvars"}
    assert f"-chdir={plans.INFRA}" not in line


@pytest.mark.parametrize("fault", faults.FAULTS.values(), ids=faults.FAULTS.keys())
def test_a_fault_can_be_planted(fault: Fault) -> None:
    """What it replaces is there, in files of today."""
    text = (plans.ROOT / fault.file).read_text("utf-8")

    assert fault.old in text
    assert fault.seen_by in check.CHECKS


@pytest.mark.skipif(shutil.which("terraform") is None, reason=NO_TERRAFORM)
def test_files_have_terraforms_format() -> None:
    """Which needs no provider."""
    line = ["terraform", "fmt", "-check", "-recursive", str(plans.INFRA)]
    done = subprocess.run(line, check=False, capture_output=True, encoding="utf-8")

    assert "" == done.stdout


@pytest.mark.terraform
@pytest.mark.slow
@pytest.mark.skipif(WRAPPER_VARIABLE not in os.environ, reason=NO_SCHEMA)
@pytest.mark.parametrize("name", faults.FAULTS)
def test_a_planted_fault_is_seen(name: str) -> None:
    """Each check turns red for what it is there for."""
    fault = faults.FAULTS[name]
    if fault.seen_by == "checkov" and not check.CHECKOV.exists():
        pytest.skip("checkov is set up by make infra-check")

    with workspace() as space:
        space.edit(fault.file, fault.old, fault.new)
        result = check.CHECKS[fault.seen_by](space)

    assert not result.ok
    assert any(fault.says in line for line in result.lines)
