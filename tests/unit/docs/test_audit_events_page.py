"""The page on the audit log says what is understood: its examples and tables are tried."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields as fields_in
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import BaseModel

from shared.app.instances import KEPT
from shared.core.audit import (
    _ANNOUNCES,
    _LOSSES,
    ENTRY_BYTES_MAX,
    NEWS_S,
    Entry,
    Meaning,
    classify,
    parse,
)
from shared.core.instances import Instance
from tests.unit.docs.tables import fields, page, rows, words

PAGE = page("audit-events.md")
METHODS = {words(row[0])[0]: row[2] for row in rows(PAGE, "method", "of")}
FOLLOWS = {"lost": Meaning.LOST, "told": Meaning.AHEAD, "looked at": Meaning.TOUCHED}
# What an example stands under begins with what follows from it, behind a colon.
EXAMPLES = re.findall(
    r"^[^\n]*: (lost|told|looked at)\b([^\n]*)\.\n\n```json\n(.*?)```",
    PAGE,
    re.DOTALL | re.MULTILINE,
)


def test_every_example_of_the_page_is_tried() -> None:
    """One for each meaning at least."""
    assert PAGE.count("```json") == len(EXAMPLES)
    assert set(FOLLOWS) == {follows for follows, _, _ in EXAMPLES}


@pytest.mark.parametrize("follows, cause, example", EXAMPLES)
def test_an_example_means_what_the_page_says(follows: str, cause: str, example: str) -> None:
    """Shapes that Google writes, with all that nobody reads."""
    word = classify(parse(example.encode()), "my-project")

    assert word is not None
    assert FOLLOWS[follows] is word.meaning
    assert words(cause) == ([str(word.cause)] if word.cause else [])
    assert word.name in json.loads(example)["protoPayload"]["resourceName"]
    assert datetime(2030, 1, 1, tzinfo=UTC).date() == word.at.date()


def test_the_methods_are_those_of_the_code() -> None:
    """Losses with their causes, the announcement, and whatever Cloud TPU logs."""
    lost = {name: words(text)[-1] for name, text in METHODS.items() if "is lost" in text}

    assert {name: str(cause) for name, cause in _LOSSES.items()} == lost
    assert {_ANNOUNCES, "tpu.googleapis.com"} == set(METHODS) - set(lost)


def test_the_fields_are_those_that_are_read() -> None:
    """No more, no fewer."""
    assert set(aliases(Entry)) == set(fields(rows(PAGE, "field", "type", "read for")))


def aliases(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the paths of all fields of a message."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from aliases(kind, f"{path}.")
        else:
            yield path


def test_the_index_holds_what_is_said() -> None:
    """In the order of the code."""
    named = list(fields(rows(PAGE, "field", "type", "meaning")))

    assert [field.name for field in fields_in(Instance)] == named


def test_the_limits_are_those_of_the_code() -> None:
    """Minutes, days and bytes."""
    assert f"A loss counts for {NEWS_S / 60:.0f} minutes." in PAGE
    assert f"| {KEPT / timedelta(days=1):.0f} days after" in PAGE
    assert f"over {ENTRY_BYTES_MAX // 1024**2} MiB" in PAGE
