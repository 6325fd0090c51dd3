"""A world for every test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.app.world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Make an installation over an empty cloud."""
    made = World(tmp_path)
    yield made
    made.close()
