"""A project of Google Cloud as far as gcloud and terraform can tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra import lifecycle, prepare
from tests.infra.fake_programs import BUCKET, DATABASE, OUTPUTS, QUEUED, REGIONS, Programs, install


@pytest.fixture(name="programs")
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Give gcloud and terraform in an empty project."""
    programs = install(tmp_path, monkeypatch)
    for module in (prepare, lifecycle):
        monkeypatch.setattr(module, "ZIP", tmp_path / "functions.zip")
    monkeypatch.setattr(lifecycle, "INFRA", tmp_path)
    programs.answer("regions list", json.dumps(REGIONS))
    programs.fails("buckets describe", "ERROR: gs://b not found: 404.")
    programs.fails("firestore databases describe", "ERROR: NOT_FOUND")
    return programs


@pytest.fixture(name="deployed")
def _deployed(programs: Programs) -> Programs:
    """Give a project where it is deployed, and no slice lives."""
    outputs = {name: {"value": value} for name, value in OUTPUTS.items()}
    programs.answer("terraform .* output -json", json.dumps(outputs))
    programs.answer("terraform .* state list", f"{BUCKET}\n{DATABASE}\n")
    programs.answer("secrets versions list", "1\n")
    programs.answer("buckets describe", "there\n")
    programs.answer(QUEUED, "[]")
    return programs
