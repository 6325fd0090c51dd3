"""Google's emulators for tests: one pair a pytest session, a project of its own for every test.

They are required: where one is not installed, the tests that need it fail and say how to.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from cli import emulators as started
from cli.emulator_jars import FOLDER_VARIABLE, Kind
from cli.errors import CliError

# Read before a test's own environment hides it.
_FOLDER: Final = os.environ.get(FOLDER_VARIABLE)
# They end with pytest, however that ends.
_BOUND: Final = (
    "import os, sys; from sandbox import processes; "
    "processes.signal_on_parent_death(9); os.execv(sys.argv[1], sys.argv[1:])"
)


@dataclass(frozen=True, slots=True)
class Emulators:
    """Where they listen: ``host:port``."""

    firestore: str
    pubsub: str


@pytest.fixture(scope="session")
def emulators(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulators]:
    """Give the running pair; they know every project."""
    folder = tmp_path_factory.mktemp("emulators")
    try:
        yield start(folder)
    finally:
        started.down(folder)


@pytest.fixture
def cloud_project() -> str:
    """Give a project that nobody else uses."""
    return f"test-{uuid4().hex[:16]}"


def start(folder: Path, rules: Path | None = None) -> Emulators:
    """Start a pair, or fail the test; whoever starts one stops it."""
    with pytest.MonkeyPatch.context() as patch:
        if _FOLDER:
            patch.setenv(FOLDER_VARIABLE, _FOLDER)
        try:
            found = started.up(folder, rules=rules, launcher=(sys.executable, "-c", _BOUND))
        except CliError as error:
            pytest.fail(f"{error}; {error.next_step}", pytrace=False)
    return Emulators(found[Kind.FIRESTORE].address, found[Kind.PUBSUB].address)
