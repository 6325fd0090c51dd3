"""`tpuctl sandbox scenario`: what it says of a file and of what is on."""

import json
from pathlib import Path

import pytest
from pytest_mock import MockerFixture
from typer.testing import CliRunner

from cli.commands.sandbox import app
from cli.errors import CliError
from sandbox import control

INFO = control.SandboxInfo(pid=7, started="1", url="http://127.0.0.1:9")
FILE = """\
title: storm
seed: 4
speed: 10
faults:
  - {at_s: 30, fault: reboot}
"""
MOMENTS = {
    "done": [
        {"at_s": 1.0, "fault": {"fault": "reboot"}, "capacity": None, "hit": ["a-w-1"]},
        {"at_s": 2.0, "fault": {"fault": "vanish"}, "capacity": None, "trouble": "no node"},
    ],
    "ahead": [
        {"at_s": 9.0, "fault": None, "capacity": {"z/v4-8": 0}},
        {"at_s": 10.0, "fault": {"fault": "call", "code": 503}, "capacity": None},
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a scenario."""
    path = tmp_path / "storm.yaml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_check_sums_a_good_file_up(file: Path) -> None:
    """Nothing needs to be up; both clocks are told."""
    result = CliRunner().invoke(app, ["scenario", "check", str(file)])

    assert (
        "good: storm: 1 thing happens, the last after 30 s of the cloud, which are 3.0 s at "
        f"speed 10, seed 4\nnext: tpuctl sandbox scenario play {file}\n" == result.stdout
    )


@pytest.mark.parametrize("command", ["check", "play"])
def test_bad_file_is_a_usage_error_with_its_line(file: Path, command: str) -> None:
    """Before the sandbox is looked for."""
    file.write_text(FILE.replace("speed", "sped"), encoding="utf-8")

    result = CliRunner().invoke(app, ["scenario", command, str(file)])

    assert isinstance(result.exception, CliError)
    assert 2 == result.exception.code
    assert "storm.yaml:3: sped: there is no such key; did you mean speed?" in str(result.exception)


@pytest.mark.parametrize(
    "flags, expected",
    [
        pytest.param([], (4, 10), id="the file's"),
        pytest.param(["--seed", "5", "--speed", "2.5"], (5, 2.5), id="flags"),
    ],
)
def test_play_sends_the_file_and_what_was_given_beside_it(
    file: Path, mocker: MockerFixture, flags: list[str], expected: tuple[float, float]
) -> None:
    """Flags count more than the file."""
    mocker.patch.object(control, "require", return_value=INFO)
    on = {"scenario": {"seed": expected[0], "speed": expected[1]}}
    post = mocker.patch.object(control.Client, "post", return_value=on)

    result = CliRunner().invoke(app, ["scenario", "play", str(file), *flags])

    assert 0 == result.exit_code
    path, words = post.call_args.args
    assert ("scenario", *expected) == (path, words["seed"], words["speed"])
    assert f"seed {expected[0]}\n" in result.stdout


def test_status_shows_what_was_and_what_will_be(mocker: MockerFixture) -> None:
    """Who was hit, or why nobody was; the same as JSON."""
    mocker.patch.object(control, "require", return_value=INFO)
    found = {"title": "storm", "seed": 4, "speed": 10.0, **MOMENTS}
    mocker.patch.object(control.Client, "get", return_value={"scenario": found})

    shown = CliRunner().invoke(app, ["scenario", "status"]).stdout
    parsed = json.loads(CliRunner().invoke(app, ["scenario", "status", "--json"]).stdout)

    assert [
        "storm: seed 4, speed 10",
        "done          1 s  reboot        a-w-1",
        "done          2 s  vanish        no node",
        "ahead         9 s  capacity      z/v4-8: 0",
        "ahead        10 s  call          code=503",
    ] == shown.splitlines()
    assert found == parsed


def test_status_of_no_scenario_names_the_next_step(mocker: MockerFixture) -> None:
    """It is no error."""
    mocker.patch.object(control, "require", return_value=INFO)
    mocker.patch.object(control.Client, "get", return_value={"scenario": None})

    result = CliRunner().invoke(app, ["scenario", "status"])

    assert (0, "no scenario is on\nnext: tpuctl sandbox scenario play FILE\n") == (
        result.exit_code,
        result.stdout,
    )


def test_stop_calls_it_off(mocker: MockerFixture) -> None:
    """A refusal of the sandbox is an error."""
    mocker.patch.object(control, "require", return_value=INFO)
    delete = mocker.patch.object(control.Client, "delete", return_value={})
    good = CliRunner().invoke(app, ["scenario", "stop"])
    delete.side_effect = control.RefusedError("no scenario is on")

    bad = CliRunner().invoke(app, ["scenario", "stop"])

    assert (0, 1) == (good.exit_code, bad.exit_code)
    assert "error: no scenario is on" in bad.stderr
