"""The page about the command line says what there is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from cli import project_file
from cli.commands.root import COMMANDS, load
from cli.job_table import COLUMNS
from cli.overrides import FORM
from tests.unit.docs.tables import page, rows, words

PAGE = page("everyday.md")
README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def commands(text: str) -> list[str]:
    """Return the commands that a text names, in spans and in blocks."""
    spans = re.findall(r"`tpuctl ([a-z][^`]*)`", text)
    blocks = "\n".join(re.findall(r"^```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    lines = re.findall(r"^(?:\$ )?tpuctl ([a-z][^#\n]*)", blocks, re.MULTILINE)
    return [line.strip() for line in spans + lines]


@pytest.mark.parametrize("line", sorted({*commands(PAGE), *commands(README)}))
def test_every_command_exists_with_its_options(line: str) -> None:
    """What stands behind two hyphens is a program's."""
    name, *rest = line.partition(" -- ")[0].split("&&")[0].split()
    command = load(name)
    if hasattr(command, "commands") and rest:
        command = command.commands[rest[0]]
    known = {option for param in command.params for option in param.opts}

    assert name in COMMANDS
    assert {word.rstrip(",;.") for word in rest if re.match("--?[a-z]", word)} <= known | {"--help"}


def test_the_columns_are_those_of_the_code() -> None:
    """In its order, in its words."""
    told = {words(row[0])[0]: row[1] for row in rows(PAGE, "column", "what it is")}

    assert [(name, column.help) for name, column in COLUMNS.items()] == list(told.items())


def test_the_file_on_the_page_is_accepted(tmp_path: Path) -> None:
    """And means what the page says."""
    (written,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    path = tmp_path / project_file.NAME
    path.write_text(written)

    project = project_file.read(path)

    assert tomllib.loads(written)["run"]["type"] == project.file.fields["accelerator_type"]
    assert {"lr": "config.training.learning_rate"} == project.style.alias


def test_every_key_of_our_own_is_told_with_its_default() -> None:
    """The others are a job spec's."""
    told = {name: row[2] for row in rows(PAGE, "key of `[run]`") for name in words(row[0])}

    assert {*project_file.SHORT, *project_file.OURS, "name"} == set(told)
    assert f'`"{FORM}"`' == told["override"]
