"""Calls of the program in this process, and an installation of their own."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from cli import local_runner
from cli.main import main
from shared import wiring
from tests.fakes import FakeBlobs
from tests.unit.cli.poked import CLOUD, FakeTicker, Woken
from tests.unit.cli.stage import (
    JOB_YAML,
    OWNER,
    PATIENCE_S,
    Installed,
    Launch,
    Result,
    Tpuctl,
    write,
)


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
def woken() -> Iterator[Woken]:
    """Let this process stand for the one that is poked."""
    found = Woken()
    before = signal.signal(local_runner.POKE, found.hear)
    yield found
    signal.signal(local_runner.POKE, before)
    for thread in found.threads:
        thread.join(PATIENCE_S)


@pytest.fixture
def ticker(installed: Installed, mocker: MockerFixture) -> FakeTicker:
    """Have a home in the google wiring whose documents are on this machine."""
    write(installed.home / "settings.toml", f'wiring = "google"\n{CLOUD}')
    found = FakeTicker()
    mocker.patch.object(wiring, "open_store", return_value=installed.store)
    mocker.patch.object(wiring, "open_ticker", return_value=found)
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a program and a job file in it."""
    path = tmp_path / "project"
    write(path / "train.py", "print(1)\n")
    write(path / "job.yaml", JOB_YAML)
    monkeypatch.chdir(path)
    return path


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have jars, a pretended java and nothing else."""
    java = Path(__file__).with_name("pretend_java.py")
    programs, folder = tmp_path / "programs", tmp_path / "jars"
    write(programs / "java", f'#!/bin/sh\nexec {sys.executable} {java} "$@"\n')
    (programs / "java").chmod(0o755)
    write(folder / "cloud-firestore-emulator.jar", "")
    write(folder / "cloud-pubsub-emulator-0.8.20-all.jar", "")
    monkeypatch.setenv("PATH", f"{programs}")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("TPUCTL_EMULATORS", str(folder))
    return folder
