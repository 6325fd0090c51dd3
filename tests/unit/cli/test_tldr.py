"""`tpuctl tldr`: one page, every line of which works."""

import shlex

import pytest

from cli.commands.root import COMMANDS, load
from cli.commands.tldr import PAGE
from tests.unit.cli.stage import Tpuctl

LINES = [how for part in PAGE.values() for how in part.values()]


@pytest.mark.parametrize("line", LINES)
def test_every_line_is_a_command_with_options_that_exist(line: str) -> None:
    """As it would be typed."""
    program, name, *words = shlex.split(line)
    command = load(name)
    if hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    words = words[: words.index("--")] if "--" in words else words
    options = {option for param in command.params for option in param.opts}

    assert "tpuctl" == program
    assert name in COMMANDS
    assert {word for word in words if word.startswith("-")} <= options


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_page_fits(tpuctl: Tpuctl, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Beside each other, or one above the other."""
    monkeypatch.setenv("COLUMNS", str(columns))

    lines = tpuctl("tldr").out.splitlines()

    assert all(how in "\n".join(lines) for how in LINES)
    assert max(map(len, lines[:-1])) <= max(columns, 4 + max(map(len, LINES)))
