"""`tpuctl sandbox`: what it prints, where, and what it exits with."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_mock import MockerFixture
from typer.testing import CliRunner

from cli.commands.sandbox import app
from sandbox import control

INFO = control.SandboxInfo(pid=7, started="1", url="http://127.0.0.1:9")


@pytest.mark.parametrize("command", [["status"], ["preempt", "n"]])
def test_sandbox_that_is_not_up_is_an_error_with_the_next_step(command: list[str]) -> None:
    """On stderr, exit 1."""
    result = CliRunner().invoke(app, command)

    assert (1, "") == (result.exit_code, result.stdout)
    assert "error: no sandbox is up" in result.stderr
    assert "next: tpuctl sandbox up\n" in result.stderr


def test_down_is_no_error_when_nothing_is_up() -> None:
    """What was wanted is so."""
    result = CliRunner().invoke(app, ["down"])

    assert (0, "the sandbox is not up\n", "") == (result.exit_code, result.stdout, result.stderr)


def test_down_stops_what_is_up(mocker: MockerFixture) -> None:
    """And says what it was."""
    mocker.patch.object(control, "stop", return_value=INFO)

    result = CliRunner().invoke(app, ["down"])

    assert (0, f"sandbox down: {INFO.url}\n") == (result.exit_code, result.stdout)


def test_unknown_node_exits_with_not_found(mocker: MockerFixture) -> None:
    """Exit 3, as everywhere."""
    error = control.UnknownNameError("Resource 'n' was not found")
    mocker.patch.object(control, "preempt", side_effect=error)

    result = CliRunner().invoke(app, ["preempt", "n"])

    assert 3 == result.exit_code
    assert "'n' was not found" in result.stderr


def test_silent_preemption_has_no_notice() -> None:
    """Contradictory options are a usage error."""
    result = CliRunner().invoke(app, ["preempt", "n", "--silent", "--notice-s", "3"])

    assert 2 == result.exit_code


def test_up_starts_once_and_publishes_into_the_state_file(
    mocker: MockerFixture, home: Path
) -> None:
    """A second one only says where it is."""
    start = mocker.patch.object(control, "start", return_value=INFO)
    first = CliRunner().invoke(app, ["up", "--port", "9"])
    mocker.patch.object(control, "find", return_value=INFO)
    second = CliRunner().invoke(app, ["up"])

    assert "sandbox up: http://127.0.0.1:9" in first.stdout
    assert (0, "the sandbox is up already: http://127.0.0.1:9\n") == (
        second.exit_code,
        second.stdout,
    )
    start.assert_called_once_with(
        home / "sandbox", port=9, settings=None, bus=home / "state.db", has_ssh=False
    )


@pytest.mark.parametrize(
    "port, expected",
    [
        pytest.param(0, "", id="no ssh"),
        pytest.param(22, "ssh: gcloud compute tpus tpu-vm ssh NODE --zone=ZONE\n", id="port 22"),
        pytest.param(
            23456,
            'ssh: gcloud compute tpus tpu-vm ssh NODE --zone=ZONE --ssh-flag="-p 23456"'
            ' (scp: --scp-flag="-P 23456")\n',
            id="a port that gcloud has to be told",
        ),
    ],
)
def test_up_says_how_to_log_in(mocker: MockerFixture, port: int, expected: str) -> None:
    """Only where one can."""
    info = dataclasses.replace(INFO, ssh_port=port)
    mocker.patch.object(control, "start", return_value=info)

    result = CliRunner().invoke(app, ["up", "--ssh"])

    assert f"sandbox up: {INFO.url}\n{expected}next: tpuctl sandbox status\n" == result.stdout


def test_sandbox_without_ssh_does_not_get_it_later(mocker: MockerFixture) -> None:
    """It has to start anew; one that has it is up as wanted."""
    find = mocker.patch.object(control, "find", return_value=INFO)
    without = CliRunner().invoke(app, ["up", "--ssh"])
    find.return_value = dataclasses.replace(INFO, ssh_port=22)
    having = CliRunner().invoke(app, ["up", "--ssh"])

    assert (1, 0) == (without.exit_code, having.exit_code)
    assert "error: the sandbox is up already, without --ssh\n" in without.stderr
    assert "next: tpuctl sandbox down, and then again\n" in without.stderr


def test_unreadable_settings_are_named(tmp_path: Path) -> None:
    """Before anything is started."""
    config = tmp_path / "settings.json"
    config.write_text("{", encoding="utf-8")

    result = CliRunner().invoke(app, ["up", "--config", str(config)])

    assert 1 == result.exit_code
    assert "settings.json is not JSON" in result.stderr


def test_status_is_a_table_or_json(mocker: MockerFixture) -> None:
    """The same facts."""
    host = {"name": "n-w-0", "power": "ON", "pid": 8, "ip": "127.77.0.2"}
    found = {
        "ssh_port": 22,
        "url": INFO.url,
        "pid": 7,
        "queuedResources": [],
        "nodes": [],
        "hosts": [host],
        "faults": [{"fault": "missing-node", "count": 1}],
    }
    mocker.patch.object(control, "status", return_value=found)

    table = CliRunner().invoke(app, ["status"]).stdout
    parsed = json.loads(CliRunner().invoke(app, ["status", "--json"]).stdout)

    assert "n-w-0  ON  8  127.77.0.2" in table
    assert table.endswith("\nmissing-node  -   1 more\n")
    assert "\nssh: gcloud compute tpus tpu-vm ssh NODE --zone=ZONE\n" in table
    assert found == parsed


def test_status_says_nothing_of_faults_when_none_is_in_force(mocker: MockerFixture) -> None:
    """Not even a header."""
    nothing: dict[str, object] = {
        key: [] for key in ("queuedResources", "nodes", "hosts", "faults")
    }
    found = {"ssh_port": 0, "url": INFO.url, "pid": 7, **nothing}
    mocker.patch.object(control, "status", return_value=found)

    result = CliRunner().invoke(app, ["status"])

    assert f"sandbox up: {INFO.url} (process 7)\n" == result.stdout


def test_command_imports_nothing_heavy() -> None:
    """The CLI must start quickly."""
    heavy = {"flask", "google.api_core", "pydantic", "urllib.request", "werkzeug"}
    command = [sys.executable, "-c", "import sys, cli.commands.sandbox; print(*sys.modules)"]

    answer = subprocess.run(command, capture_output=True, text=True, check=True)

    assert set() == heavy & set(answer.stdout.split())
