"""The page of what nobody has seen: its tables are the assumptions that the self test has."""

from pathlib import Path

import pytest

from cli.selftest.assumptions import ASSUMPTIONS
from cli.selftest.model import Assumption
from tests.unit.docs.tables import page, rows, words

PAGE = page("live-checklist.md")
ROOT = Path(__file__).parents[3]
BY_HAND = ("gcloud ", "time gcloud ", "curl ")


def test_tried_rows_are_the_assumptions_with_a_probe() -> None:
    """Word for word, in the order in which they are tried."""
    written = rows(PAGE, "id", "assumption")

    assert [
        (f"`{each.id}`", each.claim, each.expected, each.where, f"`{each.command}`")
        for each in ASSUMPTIONS
        if each.probe
    ] == written


def test_other_rows_are_those_without_one() -> None:
    """And say why."""
    written = rows(PAGE, "not tried", "assumption")

    assert [
        (f"`{each.id}`", each.claim, each.expected, each.where, each.untried, f"`{each.command}`")
        for each in ASSUMPTIONS
        if not each.probe
    ] == written


def test_every_question_of_the_sandbox_has_an_assumption() -> None:
    """What it does not know is what the real service is to be asked."""
    asked = {row[0] for row in rows(page("sandbox.md"), "question", "assumed")}

    assert asked == {each.question for each in ASSUMPTIONS if each.question}


@pytest.mark.parametrize("assumption", ASSUMPTIONS, ids=lambda each: each.id)
def test_assumption_says_who_relies_on_it_and_how_to_try_it(assumption: Assumption) -> None:
    """A file that is there, a command, and why it is not tried where it is not."""
    assert (ROOT / assumption.where).is_file()
    assert assumption.command.startswith(BY_HAND)
    assert bool(assumption.untried) == (assumption.probe is None)


def test_ids_are_unique() -> None:
    """People name them."""
    ids = [each.id for each in ASSUMPTIONS]

    assert sorted(set(ids)) == sorted(ids)


def test_options_are_those_of_the_command() -> None:
    """Each once, and `--yes` in the text."""
    from cli.commands.root import load

    flags = {flag for param in load("selftest").params for flag in param.opts}

    assert {words(row[0])[0] for row in rows(PAGE, "option", "what it is for")} <= flags
    assert "--yes" in flags
