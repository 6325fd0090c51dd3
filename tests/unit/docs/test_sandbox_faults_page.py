"""The page on luck and faults: its tables and its example are what the sandbox takes."""

import re

from sandbox import scenario
from sandbox.calls import CALLS_KEPT
from sandbox.faults import FAULTS
from sandbox.luck import Lifetime
from shared.core.job_file import parse_job_file
from tests.unit.docs.tables import page, rows, words

PAGE = page("sandbox-faults.md")
TABLE = rows(PAGE, "fault", "keys")


def test_every_fault_stands_with_its_keys() -> None:
    """All of them, and no other."""
    written = {words(row[0])[0]: sorted(words(row[1])) for row in TABLE}

    assert {name: sorted(kind.model_fields) for name, kind in FAULTS.items()} == written


def test_the_key_without_a_name_is_bold() -> None:
    """It is what the command line takes first."""
    bold = {words(row[0])[0]: "".join(re.findall(r"\*\*`(\w+)`\*\*", row[1])) for row in TABLE}

    assert {name: kind.target for name, kind in FAULTS.items()} == bold


def test_example_is_a_scenario() -> None:
    """With everything that there is."""
    example = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]

    found = scenario.parse(parse_job_file(example).fields)

    assert 9 == len(found.moments())
    assert found.model_fields_set >= scenario.Scenario.model_fields.keys() - {"version", "zones"}


def test_laws_of_life_stand_with_their_numbers() -> None:
    """And each of them is one."""
    for row in rows(PAGE, "law of life", "its number"):
        kind, number = words(row[0])[0], words(row[1])[0]
        value = [5] if kind == "fixed" else 5
        assert kind == Lifetime.model_validate({"kind": kind, number: value}).kind


def test_page_says_how_many_calls_are_remembered() -> None:
    """The figure is the program's."""
    assert f"beyond {CALLS_KEPT} the oldest are forgotten" in PAGE
