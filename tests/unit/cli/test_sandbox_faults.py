"""`tpuctl sandbox inject`: the words of a fault, as the sandbox is told them."""

import pytest
from pytest_mock import MockerFixture
from typer.testing import CliRunner

from cli.commands.sandbox import app
from cli.commands.sandbox_faults import SWITCHES, words_of
from sandbox import control
from sandbox.faults import FAULTS

INFO = control.SandboxInfo(pid=7, started="1", url="http://127.0.0.1:9")


@pytest.mark.parametrize(
    "written, expected",
    [
        pytest.param([], {}, id="nothing"),
        pytest.param(["a"], {"target": "a"}, id="target"),
        pytest.param(["--for-s", "30"], {"for_s": 30}, id="number"),
        pytest.param(["--for-s=1.5", "a"], {"for_s": 1.5, "target": "a"}, id="equals"),
        pytest.param(["--for-s", ".5"], {"for_s": 0.5}, id="number as people write it"),
        pytest.param(["--silent", "--node", "n"], {"silent": True, "node": "n"}, id="switch"),
        pytest.param(["--silent", "n"], {"silent": True, "target": "n"}, id="switch, then target"),
        pytest.param(["--silent=false"], {"silent": False}, id="switch that is off"),
        pytest.param(["--hosts", "0,1"], {"hosts": "0,1"}, id="list"),
        pytest.param(["--node", "null"], {"node": "null"}, id="text that is JSON"),
        pytest.param(["--node", "inf"], {"node": "inf"}, id="text that is infinite"),
        pytest.param(["--for-s", "9" * 400], {"for_s": "9" * 400}, id="more than a number holds"),
        pytest.param(["--skew-s", "-90"], {"skew_s": -90}, id="negative"),
    ],
)
def test_keys_are_read_as_they_are_typed(written: list[str], expected: dict[str, object]) -> None:
    """Dashes for underscores; numbers as numbers."""
    assert expected == words_of(written)


@pytest.mark.parametrize(
    "written, flag",
    [
        pytest.param(["us-central2-b", "--for-s"], "--for-s", id="at the end"),
        pytest.param(["--host", "--pick", "all"], "--host", id="before another"),
        pytest.param(["--slient"], "--slient", id="misspelled switch"),
    ],
)
def test_key_without_its_value_is_a_usage_error(written: list[str], flag: str) -> None:
    """It is named, and so is what goes without a value."""
    result = CliRunner().invoke(app, ["inject", "stockout", *written])

    assert 2 == result.exit_code
    assert f"{flag}: needs a value; only --silent goes without one" in result.stderr


def test_switches_are_the_keys_that_are_true_or_false() -> None:
    """The command line does not load what says so."""
    found = {
        name
        for kind in FAULTS.values()
        for name, field in kind.model_fields.items()
        if field.annotation is bool
    }

    assert set(SWITCHES) == found


def test_fault_is_handed_to_the_sandbox(mocker: MockerFixture) -> None:
    """And what it hit is printed, without projects and zones."""
    mocker.patch.object(control, "require", return_value=INFO)
    hit = ["projects/p/locations/us-central2-b/nodes/a", "us-central2-b/v4-16"]
    post = mocker.patch.object(control.Client, "post", return_value={"hit": hit})

    words = ["inject", "reboot", "a", "--host", "1"]
    result = CliRunner().invoke(app, words)

    assert 0 == result.exit_code
    assert "reboot: a, us-central2-b/v4-16\nnext: tpuctl sandbox status\n" == result.stdout
    post.assert_called_once_with("faults", {"fault": "reboot", "target": "a", "host": 1})


def test_second_name_is_a_usage_error() -> None:
    """A fault has one target."""
    result = CliRunner().invoke(app, ["inject", "reboot", "a", "b"])

    assert 2 == result.exit_code
    assert "there is a name already, 'a'" in result.stderr


@pytest.mark.parametrize("words", [["inject"], ["inject", "--list"]], ids=["bare", "list"])
def test_list_names_every_fault_with_its_keys(words: list[str]) -> None:
    """Nothing needs to be up."""
    result = CliRunner().invoke(app, words)

    assert 0 == result.exit_code
    assert list(FAULTS) == [line.split()[0] for line in result.stdout.splitlines()[1:]]
    assert "[zone] --for-s --accelerator-type --how" in result.stdout


def test_nothing_is_broken_while_no_sandbox_is_up() -> None:
    """Exit 1, with the next step."""
    result = CliRunner().invoke(app, ["inject", "reboot"])

    assert 1 == result.exit_code
    assert "next: tpuctl sandbox up\n" in result.stderr
