"""A project of Google Cloud as far as gcloud and terraform can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infra.fake_programs import Programs, install_empty


@pytest.fixture(name="programs")
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """Give gcloud and terraform in an empty project."""
    return install_empty(tmp_path, monkeypatch)


@pytest.fixture(name="deployed")
def _deployed(programs: Programs) -> Programs:
    """Give a project where it is deployed, and no slice lives."""
    programs.answer_deployed()
    return programs
