"""A poke through real processes: whoever ticks once an hour ticks now, as often as it is asked."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import local_runner
from cli.local_runner import RUNNER, SERVED, Program
from shared.app import health_check
from tests.installations import Installation, running, running_google, until

pytestmark = pytest.mark.slow

POLICY = {"tick_s": 3600.0}


@pytest.fixture(
    params=[
        pytest.param((running, RUNNER), id="embedded"),
        pytest.param((running_google, SERVED), id="google, over the emulators"),
    ]
)
def up(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Installation, Program]]:
    """Have an installation that ticks once an hour, and the program that does it."""
    run, program = request.param
    with run(tmp_path / "rare", policy=POLICY) as installation:
        yield installation, program


def test_every_poke_is_followed_by_a_tick(up: tuple[Installation, Program]) -> None:
    """Within the patience of the command; and its process still ends when it is told to."""
    installation, program = up
    found = local_runner.find(installation.home, program)
    assert found is not None, "it is up"

    printed = [installation.tpuctl("poke", "--wait") for _ in range(2)]

    for each in printed:
        assert f"woke {program.label}, process {found.pid}; " in each
        assert re.search(r"\na tick began at \d\d:\d\d:\d\d\nnext: tpuctl ps\n", each)
    assert "; the last tick began " in printed[1]
    assert installation.opened.store.get(health_check.TICK) is not None
    os.kill(found.pid, signal.SIGTERM)
    until(lambda: not program.note(installation.home).exists(), lambda: f"{program.label} ends")
