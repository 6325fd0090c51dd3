"""What follows an error from below the commands: the step depends on where the home points."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.errors import translated
from shared.errors import ControlPlaneError, NotAuthorized, Unavailable
from tests.unit.cli.stage import write

CLOUD = '[cloud]\nproject = "my-lab"\nbucket = "my-lab-tpuctl"\n'
NO_RIGHT = NotAuthorized("Firestore: Missing or insufficient permissions. (it needs a role)")
API_OFF = NotAuthorized("Firestore: Cloud Firestore API has not been used in project my-lab before")
LOGGED_OUT = NotAuthorized("Pub/Sub: Your default credentials were not found.")
SILENT = Unavailable("Firestore: failed to connect")


@pytest.mark.parametrize(
    "wiring, error, step",
    [
        pytest.param("google", NO_RIGHT, "adds you to users or teams", id="no right"),
        pytest.param("google", API_OFF, "gcloud services enable firestore", id="API is off"),
        pytest.param("google", LOGGED_OUT, "gcloud auth application-default", id="logged out"),
        pytest.param("google", SILENT, "try again; the logs of the functions", id="silent"),
        pytest.param("box", NO_RIGHT, "tpuctl init --box", id="box, no right"),
        pytest.param("box", SILENT, "try again; tpuctl box status", id="box, silent"),
        pytest.param("embedded", SILENT, "try again; tpuctl local status", id="local"),
        pytest.param("embedded", NO_RIGHT, "tpuctl local status", id="local, no right"),
    ],
)
def test_the_step_is_one_that_helps_there(
    home: Path, wiring: str, error: ControlPlaneError, step: str
) -> None:
    """Nobody who works in the cloud is sent to the runner of this machine."""
    cloud = "" if wiring == "embedded" else CLOUD
    write(home / "settings.toml", f'wiring = "{wiring}"\n{cloud}')

    told = translated(error)

    assert str(error) == str(told)
    assert step in told.next_step


def test_settings_that_cannot_be_read_do_not_hide_the_error(home: Path) -> None:
    """They are told of by whoever needs them."""
    write(home / "settings.toml", "wiring = ")

    assert "tpuctl local status" in translated(SILENT).next_step
