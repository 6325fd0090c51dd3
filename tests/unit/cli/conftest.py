"""Calls of the program in this process, and an installation of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from cli.main import main
from tests.fakes import FakeBlobs
from tests.unit.cli.stage import JOB_YAML, OWNER, Installed, Launch, Result, Tpuctl, write


@pytest.fixture
def tpuctl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tpuctl:
    """Call the program as the console script does."""
    monkeypatch.setenv("TPUCTL_OWNER", OWNER)

    def call(*words: str) -> Result:
        capsys.readouterr()
        code = main(words)
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return call


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Installed]:
    """Make an empty installation in which nothing is up."""
    monkeypatch.setenv("TPUCTL_OWNER", OWNER)
    found = Installed()
    yield found
    found.store.close()
    found.bus.close()


@pytest.fixture
def blobs(mocker: MockerFixture) -> FakeBlobs:
    """Take the place of the bucket."""
    fake = FakeBlobs()
    mocker.patch("shared.wiring.open_blobs", return_value=fake)
    return fake


@pytest.fixture
def launch(installed: Installed) -> Iterator[Launch]:
    """Bring everything up, with somebody who accepts every order."""
    installed.pretend_up()
    with Launch(installed) as playing:
        yield playing


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a program and a job file in it."""
    path = tmp_path / "project"
    write(path / "train.py", "print(1)\n")
    write(path / "job.yaml", JOB_YAML)
    monkeypatch.chdir(path)
    return path
