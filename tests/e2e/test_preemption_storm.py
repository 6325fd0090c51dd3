"""Many slices lose their capacity at once, each told twice and in any order.

``python -m bench preemption_storm`` is the same with 2,000 of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.emulated import installation as emulated
from shared.settings import SECRET_VARIABLE
from shared.wiring import CLOUD_VARIABLE
from tests import loads
from tests.installations import environment_kept

pytestmark = pytest.mark.slow
SLICES = 40


def test_every_slice_of_a_storm_gets_exactly_one_new_generation(tmp_path: Path) -> None:
    """Asked for under one name, and nothing is put aside."""
    home = tmp_path / "home"
    with environment_kept():
        os.environ[SECRET_VARIABLE] = loads.SECRET
        try:
            settings = emulated.up(
                home, cloud=loads.CLOUD, policy=loads.POLICY, installation=loads.INSTALLATION
            )
            outcome = loads.storm(settings, os.environ[CLOUD_VARIABLE], SLICES, tmp_path)
        finally:
            emulated.down(home)

    assert {2: SLICES} == outcome.generations
    assert SLICES == len(outcome.created)
    assert [] == outcome.parked
    assert outcome.is_right
