"""The page about the sandbox: what it says that works is what the tests run."""

import re
from pathlib import Path

import pytest

from sandbox.methods import METHODS
from tests.gcloud_steps import STORIES
from tests.unit.docs.tables import page, rows, words

PAGE = page("sandbox.md")
SANDBOX = Path(__file__).parents[3] / "sandbox"
LINES_MAX = 200


def test_commands_are_those_that_the_tests_run() -> None:
    """All of them, and no other."""
    written = {
        (f"{track}{words(row[0])[0]} {command}")
        for row in rows(PAGE, "gcloud", "commands")
        for track, cell in (("", row[1]), ("alpha ", row[2]))
        for command in words(cell)
    }

    assert {step.command for steps in STORIES.values() for step in steps} == written


def test_methods_stand_with_the_versions_that_have_them() -> None:
    """Each in one row."""
    written = {
        method: frozenset(words(row[0]))
        for row in rows(PAGE, "versions", "methods")
        for method in words(row[1])
    }

    assert {name: row.versions for name, row in METHODS.items()} == written


@pytest.mark.parametrize("row", rows(PAGE, "question", "assumed"), ids=lambda row: row[0])
def test_assumption_is_in_a_place_that_is_there(row: tuple[str, ...]) -> None:
    """Named at its end."""
    place = re.search(r"\(`(\w+\.py)`\)$", row[1])

    assert place
    assert (SANDBOX / place[1]).exists()


def test_page_is_short() -> None:
    """Somebody shall read it."""
    assert len(PAGE.splitlines()) <= LINES_MAX
