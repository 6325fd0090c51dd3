"""The page on job specs says what the parser does."""

import json
import re
from pathlib import Path

from shared.core.causes import Cause
from shared.core.job_file import parse_job_file
from shared.core.placeholders import PLACEHOLDERS
from shared.core.rules import PRESETS, Action, Group
from shared.core.spec import JobSpec, parse_spec, to_document
from shared.core.spec_text import TEXT_BYTES_MAX
from shared.errors import SpecError

PAGE = (Path(__file__).parents[2] / "docs" / "job-spec.md").read_text(encoding="utf-8")
# Written by tpuctl, not by people.
NOT_WRITTEN = {"version", "code"}


def test_every_field_is_described_with_its_default() -> None:
    """The table is complete, in the parser's order, and its defaults are the real ones."""
    table = PAGE.partition("## Fields")[2].partition("\n\nCauses")[0]
    rows = re.findall(r"^\| `(\w+)` \| .* \| (?:`(.*)`)? ?\|$", table, re.MULTILINE)
    document = to_document(parse_spec({"name": "a", "shell": "b"})) | {"shell": None}
    defaults = {name: document[name] for name in JobSpec.model_fields if name not in NOT_WRITTEN}

    described = {name: json.loads(default or "null") for name, default in rows}

    assert defaults | {"name": None} == described


def test_the_example_is_a_spec() -> None:
    """What people copy works."""
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)

    assert "digits" == parse_job_file(example).spec().name


def test_the_errors_are_real() -> None:
    """The messages on the page are the ones that the parser gives."""
    texts = ["name: a\n\ncomand: [a]\n", "name: a\ncommand: [a]\n\ngrace_s: soon\n"]

    assert "\n".join(map(message, texts)) in PAGE


def message(text: str) -> str:
    """Return what the parser says of a file that is wrong."""
    try:
        parse_job_file(text).spec()
    except SpecError as error:
        return str(error)
    raise AssertionError("the file is right")


def test_every_word_of_the_rules_is_named() -> None:
    """Causes, groups, actions, presets and placeholders, none missing."""
    causes = [cause for cause in Cause if cause is not Cause.SUCCEEDED]
    words = [f"`{word}`" for word in (*causes, Group.GONE, Group.ECHO, *Action, *PRESETS)]
    words += [f"`{{{name}}}`" for name in PLACEHOLDERS] + [f"{TEXT_BYTES_MAX:,} bytes"]

    assert [] == [word for word in words if word not in PAGE]
