"""The page on stages is drawn from the table that the code goes by."""

import re

from shared.core.stages import Stage, mermaid
from tests.unit.docs.tables import page, rows, words

PAGE = page("job-stages.md")


def test_the_diagram_is_the_table() -> None:
    """A stage or an event that changes redraws the page."""
    diagrams = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)

    assert [mermaid()] == diagrams


def test_every_stage_says_what_it_waits_for() -> None:
    """All stages, in the order of the code."""
    described = [word for row in rows(PAGE, "stage", "the job waits for") for word in words(row[0])]

    assert [str(stage) for stage in Stage] == described


def test_what_looks_like_a_stage_names_a_real_one() -> None:
    """The second table leads to stages that are stored."""
    named = {word for row in rows(PAGE, "what people see") for word in words(row[1])}

    assert named
    assert named <= set(Stage)
