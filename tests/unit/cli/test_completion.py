"""What Tab offers: commands without importing them, and names that exist."""

from contextlib import suppress

import pytest
from pytest_mock import MockerFixture

from cli.completion import job_names, slice_names
from tests.unit.cli.stage import Installed, Tpuctl, make_job, make_slice


def offered(
    tpuctl: Tpuctl, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, line: str
) -> list[str]:
    """Ask as bash does when Tab is pressed at the end of a line."""
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    monkeypatch.setenv("_TPUCTL_COMPLETE", "complete_bash")
    with pytest.raises(SystemExit):
        tpuctl()
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    "line, expected",
    [
        pytest.param("tpuctl sho", ["show"], id="a command"),
        pytest.param("tpuctl why 1", ["12", "1"], id="numbers of jobs, the newest first"),
        pytest.param("tpuctl stop dig", ["digits"], id="names of jobs, once"),
        pytest.param("tpuctl logs @", ["@last"], id="a handle"),
        pytest.param("tpuctl run --on v2", ["v2-1"], id="slices"),
        pytest.param("tpuctl local st", ["status"], id="commands of a group"),
        pytest.param("tpuctl ps --co", ["--columns"], id="options"),
        pytest.param("tpuctl --ver", ["--version"], id="options of the program"),
    ],
)
def test_tab_offers_what_there_is(
    tpuctl: Tpuctl,
    installed: Installed,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    expected: list[str],
) -> None:
    """Of the word that is being typed."""
    for number in (1, 2, 12):
        installed.put_job(make_job(number, name="digits"))
    installed.put_slice(make_slice(make_job(1), name="v2-1"))

    assert expected == offered(tpuctl, capsys, monkeypatch, line)


def test_whatever_is_wrong_offers_nothing(installed: Installed, mocker: MockerFixture) -> None:
    """An error between two keys would only be in the way."""
    mocker.patch("cli.installation.here", side_effect=ZeroDivisionError)
    installed.put_job(make_job(1))

    assert [] == job_names("") == slice_names("")


def test_the_script_for_a_shell_can_be_had(
    tpuctl: Tpuctl, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is installed by the flag that help lists."""
    # Else Typer looks for a shell among the processes that the tests were started by.
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    with suppress(SystemExit):  # click ends the program, or leaves that to who called it
        tpuctl("--show-completion", "bash")

    assert "_TPUCTL_COMPLETE=complete_bash" in capsys.readouterr().out
    assert "--install-completion" in tpuctl("--help").out
