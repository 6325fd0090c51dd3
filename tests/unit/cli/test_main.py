"""The entrance: help, version, and every way in which a command can go wrong."""

import sqlite3
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer
from pytest_mock import MockerFixture

from cli.commands.root import COMMANDS
from tests.unit.cli.stage import Installed, Tpuctl, write

HEAVY = {"google.auth", "google.api_core", "pydantic", "rich", "cattrs", "yaml", "urllib.request"}
QUICK = [["--help"], ["ps"], ["wait", "1"], ["show", "9"], ["stop", "1"]]


def test_help_lists_every_command_without_importing_any(tpuctl: Tpuctl) -> None:
    """The list is a table."""
    result = tpuctl("--help")

    assert (0, "") == (result.code, result.err)
    assert all(f"  {name} " in result.out for name in COMMANDS)
    assert result.out == tpuctl("-h").out == tpuctl().out


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_table_of_commands_says_what_their_modules_say(name: str) -> None:
    """So that the list may be shown without them."""
    entry = COMMANDS[name]
    found = getattr(import_module(entry.module), entry.attribute)

    text = found.info.help if isinstance(found, typer.Typer) else found.__doc__

    assert entry.help == str(text).splitlines()[0]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "demo"])
def test_every_command_has_help_that_fits_80_columns(tpuctl: Tpuctl, name: str) -> None:
    """Also the groups."""
    result = tpuctl(name, "--help")

    assert 0 == result.code
    assert all(len(line) <= 80 for line in result.out.splitlines())


def test_version_is_the_distribution_s(tpuctl: Tpuctl) -> None:
    """Asked of the installed package."""
    assert "tpuctl 0." in tpuctl("--version").out


@pytest.mark.parametrize(
    "words, error, next_step",
    [
        pytest.param(["shwo"], "there is no command 'shwo'; near: show", "tpuctl", id="command"),
        pytest.param(["ps", "--al"], "no such option: --al", "tpuctl ps", id="option"),
        pytest.param(["stop"], "missing argument 'JOB'", "tpuctl stop", id="argument"),
        pytest.param(["slice", "lss"], "no such command 'lss'", "tpuctl slice", id="subcommand"),
        pytest.param(
            ["logs", "1", "--host", "x"], "invalid value for '--host'", "tpuctl logs", id="type"
        ),
    ],
)
def test_wrong_words_are_one_line_and_the_help_to_read(
    tpuctl: Tpuctl, words: list[str], error: str, next_step: str
) -> None:
    """Exit 2."""
    result = tpuctl(*words)

    assert (2, "") == (result.code, result.out)
    assert result.error.startswith(error)
    assert f"{next_step} --help" == result.next_step


def test_group_without_a_command_shows_its_help(tpuctl: Tpuctl) -> None:
    """As every command line does."""
    result = tpuctl("local")

    assert 2 == result.code
    assert "Usage: tpuctl local" in result.out + result.err


def test_interrupt_is_one_line_and_exit_130(tpuctl: Tpuctl, mocker: MockerFixture) -> None:
    """Wherever it comes."""
    mocker.patch("cli.commands.ps.list_jobs", side_effect=KeyboardInterrupt)

    result = tpuctl("ps")

    assert (130, "interrupted\n") == (result.code, result.err)


def test_bug_is_told_without_a_trace(tpuctl: Tpuctl, mocker: MockerFixture) -> None:
    """Users get a sentence; whoever looks for the bug asks for more."""
    mocker.patch("cli.commands.ps.list_jobs", side_effect=ZeroDivisionError("by zero"))

    result = tpuctl("ps")

    assert (1, "a bug in tpuctl: ZeroDivisionError: by zero") == (result.code, result.error)
    assert "TPUCTL_DEBUG=1" in result.next_step


def test_system_s_refusal_is_no_bug(tpuctl: Tpuctl, mocker: MockerFixture) -> None:
    """It names the path."""
    error = PermissionError(13, "Permission denied", "/srv/x")
    mocker.patch("cli.commands.ps.list_jobs", side_effect=error)

    result = tpuctl("ps")

    assert (1, "/srv/x: Permission denied") == (result.code, result.error)


def test_bug_is_raised_when_asked_for(
    tpuctl: Tpuctl, mocker: MockerFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its trace."""
    mocker.patch("cli.commands.ps.list_jobs", side_effect=ZeroDivisionError)
    monkeypatch.setenv("TPUCTL_DEBUG", "1")

    with pytest.raises(ZeroDivisionError):
        tpuctl("ps")


def test_reader_that_has_seen_enough_is_no_error(installed: Installed) -> None:
    """``tpuctl --help | head -1``."""
    script = f"{sys.executable} -c 'import sys; from cli.main import main; sys.exit(main())'"
    command = f"set -o pipefail; {script} --help | true"

    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, cwd=Path.cwd()
    )

    assert "" == done.stderr
    assert installed.home.exists()


@pytest.mark.parametrize("command", ["ps", "show", "stop"])
def test_corrupt_state_file_is_refused_and_left_as_it_is(
    tpuctl: Tpuctl, home: Path, command: str
) -> None:
    """One line with its path."""
    state = write(home / "state.db", "this is a shopping list, not a database\n" * 40)
    before = state.read_bytes()
    words = [command] if command == "ps" else [command, "1"]

    result = tpuctl(*words)

    assert 1 == result.code
    if command != "stop":
        assert str(state) in result.error
        assert "left as it is" in result.error
    assert before == state.read_bytes()


def test_newer_state_file_is_refused_and_left_as_it_is(
    tpuctl: Tpuctl, installed: Installed
) -> None:
    """Whoever upgraded knows what to do."""
    connection = sqlite3.connect(installed.settings.state_path, isolation_level=None)
    connection.execute("PRAGMA user_version = 99")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = installed.settings.state_path.read_bytes()

    result = tpuctl("ps")

    assert 1 == result.code
    assert "version 99, newer than" in result.error
    assert before == installed.settings.state_path.read_bytes()


def test_wrong_setting_is_named_with_the_near_one(tpuctl: Tpuctl, home: Path) -> None:
    """In its file."""
    write(home / "settings.toml", "[policy]\ntik_s = 1\n")

    result = tpuctl("ps")

    assert 1 == result.code
    assert "settings.toml: policy.tik_s: is no setting; did you mean policy.tick_s?" in result.error


@pytest.mark.parametrize("command", QUICK)
def test_quick_commands_import_nothing_heavy(installed: Installed, command: list[str]) -> None:
    """They would take three times as long."""
    code = (
        "import sys; from cli.main import main; main(sys.argv[1:]);"
        "sys.stdout.flush(); print('\\n@', *sys.modules)"
    )
    installed.store.close()

    answer = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=True
    )

    loaded = answer.stdout.rpartition("@")[2].split()
    assert set() == HEAVY & set(loaded)


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_that_are_closed_hide_only_what_is_written(
    installed: Installed, streams: str
) -> None:
    """The command does what it does."""
    installed.store.close()
    code = "import sys; from cli.main import main; sys.exit(main(sys.argv[1:]))"

    done = subprocess.run(
        ["/bin/sh", "-c", f'"$0" -c "$1" ps {streams}', sys.executable, code],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode
    assert "bug" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is full")
def test_output_that_cannot_be_written_is_one_line(installed: Installed) -> None:
    """And nothing about paths that are not its own."""
    installed.store.close()
    code = "import sys; from cli.main import main; sys.exit(main(sys.argv[1:]))"

    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, "ps"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert 1 == done.returncode
    assert ["No space left on device"] == [
        line.rpartition(": ")[2] for line in done.stderr.splitlines() if "error" in line
    ]
    assert "TPUCTL_HOME names" not in done.stderr
