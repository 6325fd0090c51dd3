"""An installation behind the functions."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from functions import serving
from tests.unit.app.world import World


@pytest.fixture
def world(tmp_path: Path, mocker: MockerFixture) -> Iterator[World]:
    """Make an installation over an empty cloud, and let the functions serve it."""
    made = World(tmp_path)
    mocker.patch.object(serving, "app", return_value=made.app)
    serving._prefix.cache_clear()
    yield made
    serving._prefix.cache_clear()
    made.close()
