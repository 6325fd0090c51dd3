"""The page on boxes names commands and options that there are, and says what they say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cli.commands.moving import _secret_steps, _terraform_steps
from cli.main import main
from cli.moving import Exported
from cli.moving_file import Header
from shared import settings as home_settings

PAGE = (Path(__file__).parents[2] / "docs" / "box.md").read_text(encoding="utf-8")
ORDERS = re.findall(r"^ *\$ tpuctl (.*)$", PAGE, re.MULTILINE)
IN_TEXT = re.findall(r"`tpuctl ((?:box|import|init)[^`]*)`", PAGE)
GROUPS = ("box",)


@pytest.mark.parametrize("words", sorted({*ORDERS, *IN_TEXT}))
def test_command_on_the_page_is_there(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With each of its options."""
    split = shlex.split(words)
    command = split[: 2 if split[0] in GROUPS else 1]

    code = main([*command, "--help"])

    shown = capsys.readouterr().out
    assert 0 == code
    assert [] == [word for word in split if word.startswith("--") and word not in shown]


def test_settings_on_the_page_are_what_its_command_writes(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line for line."""
    (order,) = [words for words in ORDERS if words.startswith("init --box")]

    assert 0 == main([*shlex.split(order), "--no-check"])

    told = capsys.readouterr().out.splitlines()
    assert "\n".join(told[1:]) in PAGE
    assert f"wrote {home}/settings.toml:" == told[0]


def test_steps_on_the_page_are_those_that_are_printed(home: Path) -> None:
    """For the project of the page."""
    header = Header("kv24ww", "my-lab", "tpuctl", "my-lab-tpuctl", "s", "2030-01-02")
    words = ["init", "--project", "my-lab", "--region", "us-central2"]
    assert 0 == main(words)
    settings = home_settings.load()
    written = (home / "settings.toml").read_text("utf-8")
    there = written.replace(settings.installation, "kv24ww")
    (home / "settings.toml").write_text(there, "utf-8")

    steps = [
        *_terraform_steps(Exported(header, {}, 0)),
        *_secret_steps(home_settings.load(), Path("box.jsonl")),
    ]

    assert 6 == len(steps)
    assert [] == [step for step in steps if f"     {step}\n" not in PAGE]
