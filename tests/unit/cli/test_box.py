"""`tpuctl box`: who runs it, what is up, and who is refused."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_mock import MockerFixture, MockType

from cli import box_checks, box_unit, local_runner
from cli.box_checks import Finding
from cli.box_unit import Systemd
from sandbox.processes import start_time
from shared import settings as home_settings
from shared import wiring
from shared.app.seal import Seal, break_seal, find_seal, put_seal
from tests.unit.cli.stage import PLACE, Installed, Tpuctl, make_job, write

SETTINGS = """\
wiring = "box"
[cloud]
project = "lab-project"
bucket = "lab-bucket"
"""
INFO = local_runner.RunnerInfo(8, "1", "")
Systemctl = Callable[[str], MockType]


@pytest.fixture
def box(home: Path) -> Path:
    """Have a home that is a box."""
    write(home / "settings.toml", SETTINGS)
    write(home / "installation", "abc123")
    return home


@pytest.fixture
def runner(mocker: MockerFixture) -> dict[str, MockType]:
    """Have a process that can be started and stopped, and reports that can come."""
    good = iter([Finding("reports come")])
    return {
        "check": mocker.patch.object(box_checks, "findings", return_value=good),
        "find": mocker.patch.object(local_runner, "find", return_value=None),
        "start": mocker.patch.object(local_runner, "start", return_value=INFO),
        "stop": mocker.patch.object(local_runner, "stop", return_value=INFO),
    }


@pytest.fixture
def systemctl(mocker: MockerFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Systemctl:
    """Take the place of the user's systemd, in a state."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    mocker.patch.object(box_unit, "manager", return_value=Systemd(is_system=False))

    def play(state: str) -> MockType:
        done = subprocess.CompletedProcess([], 0, f"{state}\n", "")
        return mocker.patch("cli.box_unit.subprocess.run", return_value=done)

    return play


def calls(systemctl: MockType) -> list[str]:
    """What systemd was told."""
    return [" ".join(call.args[0]) for call in systemctl.call_args_list]


def seal(home: Path) -> None:
    """Seal a box."""
    store = wiring.open_local_store(home_settings.load({"TPUCTL_HOME": str(home)}))
    put_seal(store, Seal(datetime(2030, 1, 2, tzinfo=UTC), "ada", "its jobs move in the file f"))
    store.close()


# --- Up and down ---------------------------------------------------------------------------------


def test_up_without_systemd_is_a_plain_process(
    tpuctl: Tpuctl,
    box: Path,
    runner: dict[str, MockType],
    systemctl: Systemctl,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And says what that means."""
    systemctl("offline")
    monkeypatch.setenv("TPUCTL_CLOUD", "http://127.0.0.1:9")

    result = tpuctl("box", "up")

    assert 0 == result.code, result.err
    runner["start"].assert_called_once_with(box, "http://127.0.0.1:9", local_runner.BOX)
    assert [
        "the box is up: process 8",
        "nothing restarts it after a reboot: run tpuctl box up again then",
        "next: tpuctl run --help",
    ] == result.out.splitlines()


def test_up_under_systemd_is_a_unit(
    tpuctl: Tpuctl, box: Path, runner: dict[str, MockType], systemctl: Systemctl, tmp_path: Path
) -> None:
    """Written, enabled and started; it ends at logout as long as nobody lingers."""
    told = systemctl("running")
    runner["find"].side_effect = [None, None, INFO]

    result = tpuctl("box", "up")

    assert 0 == result.code, result.err
    unit = tmp_path / "config" / "systemd" / "user" / "tpuctl-box-abc123.service"
    assert f'"TPUCTL_HOME={box}"' in unit.read_text("utf-8")
    assert [
        "systemctl --user is-system-running",
        "systemctl --user daemon-reload",
        "systemctl --user enable tpuctl-box-abc123.service",
        "systemctl --user restart tpuctl-box-abc123.service",
    ] == calls(told)[:4]
    runner["start"].assert_not_called()
    assert f"systemd restarts it, also after a reboot: {unit}\n" in result.out
    assert "loginctl enable-linger" in result.out


@pytest.mark.usefixtures("box")
def test_up_starts_nothing_twice(
    tpuctl: Tpuctl, runner: dict[str, MockType], systemctl: Systemctl
) -> None:
    """Under systemd or not."""
    told = systemctl("running")
    runner["find"].return_value = INFO

    result = tpuctl("box", "up")

    assert "the box is up already: process 8" == result.out.splitlines()[0]
    runner["start"].assert_not_called()
    assert ["systemctl --user is-system-running"] == calls(told)


@pytest.mark.usefixtures("box")
def test_box_that_would_hear_nothing_is_not_started(
    tpuctl: Tpuctl, runner: dict[str, MockType], systemctl: Systemctl
) -> None:
    """It would take silent hosts for dead ones."""
    systemctl("offline")
    problem = Finding("Pub/Sub: the API is not enabled", "gcloud services")
    runner["check"].return_value = iter([problem])

    result = tpuctl("box", "up")

    assert (1, "Pub/Sub: the API is not enabled", "gcloud services") == (
        result.code,
        result.error,
        result.next_step,
    )
    runner["start"].assert_not_called()


@pytest.mark.usefixtures("box")
def test_box_starts_while_google_does_not_answer(
    tpuctl: Tpuctl, runner: dict[str, MockType], systemctl: Systemctl
) -> None:
    """After a reboot the network may be later than the box."""
    systemctl("offline")
    problem = Finding("Pub/Sub did not answer", "again", may_pass=True)
    runner["check"].return_value = iter([problem])

    result = tpuctl("box", "up")

    assert 0 == result.code
    assert "Pub/Sub did not answer: the box goes on asking\n" == result.err


@pytest.mark.usefixtures("box", "runner")
def test_systemd_that_refuses_is_one_line(tpuctl: Tpuctl, systemctl: Systemctl) -> None:
    """With the way around it."""
    told = systemctl("degraded")
    failed = subprocess.CompletedProcess([], 1, "", "Failed to reload:\nAccess denied\n")
    told.side_effect = [told.return_value, failed]

    result = tpuctl("box", "up")

    told_error = "systemctl daemon-reload failed: Failed to reload: Access denied"
    assert (1, told_error) == (result.code, result.error)
    assert "--no-systemd" in result.next_step


def test_down_stops_the_unit_and_the_process(
    tpuctl: Tpuctl, box: Path, runner: dict[str, MockType], systemctl: Systemctl, tmp_path: Path
) -> None:
    """Whoever started it: nothing starts it again."""
    told = systemctl("running")
    runner["find"].return_value = INFO
    unit = tmp_path / "config" / "systemd" / "user" / "tpuctl-box-abc123.service"
    write(unit, "[Unit]\n")

    result = tpuctl("box", "down")

    assert (0, "the box is down; its jobs run on\n") == (result.code, result.out)
    assert "systemctl --user disable --now tpuctl-box-abc123.service" in calls(told)
    assert not unit.exists()
    runner["stop"].assert_called_once_with(box, local_runner.BOX)


@pytest.mark.usefixtures("box", "runner")
def test_down_without_a_box_says_so(tpuctl: Tpuctl, systemctl: Systemctl) -> None:
    """It is no error."""
    told = systemctl("offline")

    assert (0, "the box was not up\n") == ((done := tpuctl("box", "down")).code, done.out)
    assert [] == calls(told)


def test_run_takes_the_place_of_the_command(
    tpuctl: Tpuctl, box: Path, mocker: MockerFixture
) -> None:
    """Signals of systemd reach the box itself."""
    execv = mocker.patch("cli.commands.box.os.execv")

    assert 0 == tpuctl("box", "run").code

    program, words = execv.call_args.args
    assert program == words[0]
    assert ["-m", "functions.runner", "--home", str(box), "--endpoint", ""] == words[1:]


# --- The unit ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "is_system", [pytest.param(True, id="the system's"), pytest.param(False, id="the user's")]
)
def test_unit_is_what_systemd_understands(*, is_system: bool, tmp_path: Path) -> None:
    """Its own checker finds nothing to say, whatever the folder is called."""
    checker = shutil.which("systemd-analyze")
    if checker is None:
        pytest.skip("no systemd here")
    home = tmp_path / 'my "100%" home'
    environ = {"PUBSUB_EMULATOR_HOST": "127.0.0.1:9", "SECRET": "x"}
    path = write(tmp_path / "u.service", box_unit.unit_text(home, Systemd(is_system), environ))

    done = subprocess.run(
        [checker, "verify", "--man=no", path], capture_output=True, text=True, check=False
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert "100%%" in path.read_text("utf-8"), "systemd reads %h and the like as its own"
    assert "SECRET" not in path.read_text("utf-8")


@pytest.mark.usefixtures("box")
@pytest.mark.parametrize(
    "line",
    [
        "Restart=always",
        'Environment="TPUCTL_CLOUD=http://127.0.0.1:9"',
        "NoNewPrivileges=yes",
        "UMask=0077",
        "StartLimitIntervalSec=0",
        "WantedBy=default.target",
    ],
)
def test_unit_says(
    tpuctl: Tpuctl, systemctl: Systemctl, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """What `tpuctl box unit` prints."""
    systemctl("running")
    monkeypatch.setenv("TPUCTL_CLOUD", "http://127.0.0.1:9")

    assert line in tpuctl("box", "unit").out.splitlines()


def test_system_unit_runs_as_the_owner_of_the_home(box: Path) -> None:
    """Not as root, where root only installs it; and may write there alone."""
    text = box_unit.unit_text(box, Systemd(is_system=True), {})

    assert f"User={box.owner()}\n" in text
    assert f'ReadWritePaths="{box}"\n' in text


# --- Status and refusals -------------------------------------------------------------------------


def come_up(home: Path) -> None:
    """Let this process stand for the box."""
    me = {"pid": os.getpid(), "started": start_time(os.getpid()), "endpoint": ""}
    write(home / "runner.json", json.dumps(me))


def test_status_is_exit_1_unless_it_is_up(tpuctl: Tpuctl, box: Path) -> None:
    """For scripts."""
    before = tpuctl("box", "status")
    come_up(box)
    after = tpuctl("box", "status")

    assert (1, 0) == (before.code, after.code)
    assert before.out.endswith("box      not up\nnext: tpuctl box up\n")
    assert "project  lab-project, bucket lab-bucket\n" in after.out


def test_status_as_json_says_that_it_is_sealed(tpuctl: Tpuctl, box: Path) -> None:
    """A sealed box works no more."""
    come_up(box)
    seal(box)

    result = tpuctl("box", "status", "--json")
    found = json.loads(result.out)

    assert (1, os.getpid()) == (result.code, found["runner"]["pid"])
    assert "its jobs move in the file f" == found["sealed"]["summary"]
    assert "2030-01-02T00:00:00+00:00" == found["sealed"]["at"]


@pytest.mark.usefixtures("box", "project")
def test_order_to_a_box_that_is_down_is_refused(tpuctl: Tpuctl) -> None:
    """With what brings it up."""
    result = tpuctl("run", *PLACE, "--", "true")

    assert (1, "the box is not up", "tpuctl box up") == (
        result.code,
        result.error,
        result.next_step,
    )
    assert "project lab-project, box" in result.err


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("run", *PLACE, "--", "true"), id="run"),
        pytest.param(("stop", "1"), id="stop"),
        pytest.param(("resume", "1"), id="resume"),
        pytest.param(("rerun", "1"), id="rerun"),
        pytest.param(("slice", "rm", "s"), id="release"),
        pytest.param(("box", "up"), id="up"),
    ],
)
def test_sealed_box_takes_no_order(tpuctl: Tpuctl, box: Path, words: tuple[str, ...]) -> None:
    """Even if it is up: its jobs may be elsewhere already."""
    come_up(box)
    seal(box)

    result = tpuctl(*words)

    told = "this installation is sealed since 2030-01-02 00:00 UTC: its jobs move in the file f"
    assert (1, told) == (result.code, result.error)
    assert "tpuctl box unseal" in result.next_step


def test_list_of_a_sealed_box_does_not_say_to_bring_it_up(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Its jobs are somebody else's now."""
    write(installed.home / "settings.toml", SETTINGS)
    installed.put_job(make_job())
    before = tpuctl("ps").err
    seal(installed.home)

    after = tpuctl("ps").err

    assert "the box is not up, so nothing will happen; next: tpuctl box up\n" == before
    assert after.startswith("this installation is sealed since 2030-01-02 00:00 UTC")
    assert "box up" not in after


@pytest.mark.parametrize("words", [("up",), ("down",), ("status",), ("unit",), ("run",)])
def test_home_that_is_no_box_is_refused(tpuctl: Tpuctl, home: Path, words: tuple[str]) -> None:
    """Every command of a box."""
    result = tpuctl("box", *words)

    assert (1, f"{home} is no box: its wiring is embedded") == (result.code, result.error)


def test_box_is_not_brought_up_as_a_simulation(tpuctl: Tpuctl, box: Path) -> None:
    """`local up` would start a cloud that its slices are not in."""
    result = tpuctl("local", "up")

    assert (1, f"{box} works on Google Cloud: its wiring is box") == (result.code, result.error)
    assert "tpuctl box up" in result.next_step


def test_unsealing_says_the_danger_first(tpuctl: Tpuctl, box: Path) -> None:
    """Two control planes over one slice."""
    seal(box)

    refused = tpuctl("box", "unseal")
    store = wiring.open_local_store(home_settings.load())
    still = find_seal(store)
    done = tpuctl("box", "unseal", "--not-imported")

    assert (1, True) == (refused.code, still is not None)
    assert "would delete each other's slices" in refused.error
    assert (0, None) == (done.code, find_seal(store))


@pytest.mark.usefixtures("box")
def test_unsealing_what_is_not_sealed_is_refused(tpuctl: Tpuctl) -> None:
    """One line."""
    result = tpuctl("box", "unseal", "--not-imported")

    assert (1, "the box is not sealed", "tpuctl box up") == (
        result.code,
        result.error,
        result.next_step,
    )


@pytest.mark.usefixtures("emulated")
def test_second_box_of_one_home_is_refused(box: Path) -> None:
    """By the lock of the first, however it is started; and a sealed one is not started at all."""
    first = local_runner.start(box, "http://127.0.0.1:9", local_runner.BOX)
    try:
        second = subprocess.run(run_words(box), capture_output=True, text=True, check=False)
    finally:
        local_runner.stop(box, local_runner.BOX)
    seal(box)
    third = subprocess.run(run_words(box), capture_output=True, text=True, check=False)
    store = wiring.open_local_store(home_settings.load())
    break_seal(store)

    assert first.pid
    assert (1, f"error: the runner of {box} is up already") == (
        second.returncode,
        second.stderr.splitlines()[-1],
    )
    assert 1 == third.returncode
    assert third.stderr.splitlines()[-1].startswith("error: sealed since 2030-01-02")


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name an emulator that does not answer: no account is needed."""
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:9")


def run_words(home: Path) -> list[str]:
    """The command that runs a box."""
    words = [sys.executable, "-m", "functions.runner", "--home", str(home)]
    return [*words, "--endpoint", "http://127.0.0.1:9"]
