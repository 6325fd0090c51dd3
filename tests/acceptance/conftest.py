"""What all scenarios share."""

from collections.abc import Iterator

import pytest

from tests.crash.conftest import quiet
from tests.crash.worlds import CheapWorld

__all__ = ["quiet"]


@pytest.fixture
def world() -> Iterator[CheapWorld]:
    """Make an installation; whatever happens in it, nothing is done that must never be."""
    made = CheapWorld()
    yield made
    assert [] == made.watch.violations
    made.close()
