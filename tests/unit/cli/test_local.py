"""`tpuctl local`: what is up, what is started, and why it could not be."""

import json
import os
import threading
from pathlib import Path

import pytest
from pytest_mock import MockerFixture, MockType

from cli import local_runner
from cli.errors import CliError
from sandbox import control
from sandbox.processes import start_time
from tests.unit.cli.stage import Installed, Tpuctl, write

CLOUD = control.SandboxInfo(pid=7, started="1", url="http://127.0.0.1:9")
RUNNER = local_runner.RunnerInfo(pid=8, started="1", endpoint=CLOUD.url)


@pytest.fixture
def cloud(mocker: MockerFixture) -> dict[str, MockType]:
    """Have a sandbox that can be started and stopped."""
    return {
        "find": mocker.patch.object(control, "find", return_value=None),
        "start": mocker.patch.object(control, "start", return_value=CLOUD),
        "stop": mocker.patch.object(control, "stop", return_value=CLOUD),
    }


@pytest.fixture
def runner(mocker: MockerFixture) -> dict[str, MockType]:
    """Have a runner that can be started and stopped."""
    return {
        "find": mocker.patch.object(local_runner, "find", return_value=None),
        "start": mocker.patch.object(local_runner, "start", return_value=RUNNER),
        "stop": mocker.patch.object(local_runner, "stop", return_value=RUNNER),
    }


Parts = dict[str, MockType]


def test_up_starts_the_cloud_then_the_runner(
    tpuctl: Tpuctl, cloud: Parts, runner: Parts, home: Path
) -> None:
    """The cloud publishes into the installation's state file."""
    result = tpuctl("local", "up")

    assert 0 == result.code, result.err
    cloud["start"].assert_called_once_with(home / "sandbox", settings=None, bus=home / "state.db")
    runner["start"].assert_called_once_with(home, CLOUD.url)
    assert "sandbox up: http://127.0.0.1:9\nlocal runner up: process 8, log " in result.out


def test_up_starts_nothing_twice(tpuctl: Tpuctl, cloud: Parts, runner: Parts) -> None:
    """And says so."""
    cloud["find"].return_value, runner["find"].return_value = CLOUD, RUNNER

    result = tpuctl("local", "up")

    assert (0, "the local runner is up already: process 8\n") == (result.code, result.out)
    runner["start"].assert_not_called()
    cloud["start"].assert_not_called()


def test_runner_of_a_cloud_that_is_gone_is_replaced(
    tpuctl: Tpuctl, cloud: Parts, runner: Parts, home: Path
) -> None:
    """It would talk to nobody."""
    cloud["find"].return_value = CLOUD
    runner["find"].return_value = local_runner.RunnerInfo(8, "1", "http://127.0.0.1:1")

    assert 0 == tpuctl("local", "up").code
    runner["stop"].assert_called_once_with(home)
    runner["start"].assert_called_once_with(home, CLOUD.url)


def test_cloud_that_cannot_start_is_told_with_its_reason(
    tpuctl: Tpuctl, cloud: Parts, runner: Parts
) -> None:
    """And the runner is not started."""
    cloud["start"].side_effect = control.StartError("the sandbox could not start: port is in use")

    result = tpuctl("local", "up")

    assert (1, "the sandbox could not start: port is in use") == (result.code, result.error)
    assert "tpuctl local up" in result.next_step
    runner["start"].assert_not_called()


def test_down_stops_the_runner_and_the_cloud(tpuctl: Tpuctl, cloud: Parts, runner: Parts) -> None:
    """The runner first: it would see a cloud vanish."""
    cloud["find"].return_value = CLOUD

    result = tpuctl("local", "down")

    assert "local runner down: process 8\nsandbox down: http://127.0.0.1:9\n" == result.out
    cloud["stop"].assert_called_once()
    runner["stop"].assert_called_once()


def test_down_can_leave_the_cloud(tpuctl: Tpuctl, cloud: Parts, runner: Parts) -> None:
    """To start another runner on it."""
    runner["stop"].return_value = None

    result = tpuctl("local", "down", "--keep-sandbox")

    assert (0, "no local runner was up\n") == (result.code, result.out)
    cloud["stop"].assert_not_called()


def test_status_is_exit_1_unless_both_are_up(tpuctl: Tpuctl, installed: Installed) -> None:
    """For scripts."""
    before = tpuctl("local", "status")
    installed.pretend_up()
    after = tpuctl("local", "status")

    assert (1, 0) == (before.code, after.code)
    assert "local runner  not up\nsandbox       not up\nnext: tpuctl local up\n" in before.out
    assert f"local runner  up, process {os.getpid()}\n" in after.out


def test_status_as_json(tpuctl: Tpuctl, installed: Installed) -> None:
    """The same facts."""
    installed.pretend_up()

    found = json.loads(tpuctl("local", "status", "--json").out)

    assert os.getpid() == found["runner"]["pid"]
    assert ("ada", "http://127.0.0.1:9") == (found["owner"], found["sandbox"]["url"])


@pytest.mark.parametrize(
    "note",
    [
        pytest.param("", id="empty"),
        pytest.param("{", id="cut off"),
        pytest.param('{"pid": 1}', id="fields missing"),
        pytest.param('{"pid": 1, "started": "never", "endpoint": ""}', id="another process"),
    ],
)
def test_note_of_a_runner_that_is_not_there_is_not_believed(home: Path, note: str) -> None:
    """It may have been killed."""
    write(home / "runner.json", note)

    assert local_runner.find(home) is None
    assert local_runner.stop(home) is None


def test_runner_that_cannot_start_says_why(home: Path) -> None:
    """The last line of its log; a bad state file for example."""
    write(home / "state.db", "no database\n" * 100)

    with pytest.raises(CliError, match=r"state\.db .*left as it is") as caught:
        local_runner.start(home, "http://127.0.0.1:9")

    assert "runner.log" in caught.value.next_step
    assert "Traceback" not in (home / "runner.log").read_text()
    assert local_runner.find(home) is None


@pytest.fixture
def served(home: Path) -> local_runner.RunnerInfo:
    """Start a real runner, on a cloud that does not answer."""
    return local_runner.start(home, "http://127.0.0.1:9")


def test_real_runner_serves_without_a_cloud_and_goes_when_told(
    served: local_runner.RunnerInfo, home: Path
) -> None:
    """It keeps trying; only one may serve a home."""
    try:
        assert served == local_runner.find(home)
        with pytest.raises(CliError, match="is up already"):
            local_runner.start(home, served.endpoint)
        assert served == local_runner.find(home)
    finally:
        stopped = local_runner.stop(home)

    assert served == stopped
    assert start_time(served.pid) is None
    assert not (home / "runner.json").exists()
    assert "runner up" in (home / "runner.log").read_text()


def test_two_starts_at_once_give_one_runner(home: Path) -> None:
    """Whoever is second is told so."""
    told: list[object] = []

    def start() -> None:
        try:
            told.append(local_runner.start(home, "http://127.0.0.1:9"))
        except CliError as error:
            told.append(str(error))

    threads = [threading.Thread(target=start) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        local_runner.stop(home)

    assert 1 == sum(isinstance(each, local_runner.RunnerInfo) for each in told)
    assert 1 == sum("is up already" in str(each) for each in told)
