"""job.yaml is read as plain YAML 1.2, and every error says its line and key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.job_file import parse_job_file
from shared.errors import SpecError

GOOD = """\
name: digits
accelerator_type: v4-16
command:
  - python
  - train.py
  - --lr
  - 0.10
env:
  DEBUG: yes
  PORT: 08080
on: {error: stop, hang: "recreate:2"}
hold_s: 0
"""


def test_a_good_file_is_a_spec() -> None:
    """Numbers where text is needed stay as they were written; ``on`` is a word."""
    spec = parse_job_file(GOOD).spec()

    assert ("python", "train.py", "--lr", "0.10") == spec.command
    assert {"DEBUG": "yes", "PORT": "08080"} == spec.env
    assert {"error": "stop", "hang": "recreate:2"} == spec.on
    assert 0 == spec.hold_s


def test_flags_count_more_than_the_file() -> None:
    """What was typed now beats what was written once."""
    assert "other" == parse_job_file(GOOD).spec(name="other").name


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param(
            "name: a\n\ncomand: [x]\n",
            "job.yaml:3: comand: there is no such key; near: command",
            id="misspelled key",
        ),
        pytest.param(
            "name: a\ncommand: [x]\ngrace_s: soon\n",
            "job.yaml:3: grace_s: expected a number, found the text 'soon'",
            id="wrong type",
        ),
        pytest.param(
            "name: a\ncommand:\n- x\n- [y]\n",
            "job.yaml:4: command[1]: expected text, found a list",
            id="item of a list",
        ),
        pytest.param(
            "name: a\ncommand: [x]\nenv:\n  A:\n",
            "job.yaml:4: env.A: expected text, found nothing",
            id="empty value",
        ),
        pytest.param(
            "name: a\ncommand: [x]\nbudgets:\n  failures: 1.5\n",
            "job.yaml:4: budgets.failures: expected a whole number, found the number 1.5",
            id="nested",
        ),
        pytest.param("command: [x]\n", "job.yaml: name: is missing", id="missing"),
        pytest.param("name: a\nname: b\n", "job.yaml:2: name: stands twice", id="twice"),
        pytest.param("a: &x 1\nb: *x\n", "job.yaml:2: b: anchors and aliases", id="alias"),
        pytest.param("a: !!python/name:os.system x\n", "job.yaml:1: a: tags", id="tag"),
        pytest.param("a: !x 1\n", "job.yaml:1: a: tags", id="own tag"),
        pytest.param("? [a]\n: 1\n", "job.yaml:1: key: expected a key of text", id="key"),
        pytest.param("name: [a\n", "job.yaml:2: cannot be read as YAML", id="syntax"),
        pytest.param("a: \0", "job.yaml: cannot be read as YAML", id="NUL"),
        pytest.param("- a\n", "job.yaml:1: expected a mapping", id="list"),
        pytest.param("", "job.yaml:1: expected a mapping", id="empty file"),
        pytest.param("a: " + "[" * 9000, "job.yaml: is nested too deeply", id="deep"),
        pytest.param("a: " + "b" * 300_000, "job.yaml: is larger than", id="large"),
    ],
)
def test_errors_say_file_line_and_key(text: str, message: str) -> None:
    """Whoever reads the message can go to the line."""
    with pytest.raises(SpecError) as caught:
        parse_job_file(text).spec()

    assert str(caught.value).startswith(message)


def test_an_error_in_a_flag_has_no_line() -> None:
    """A flag does not stand in the file."""
    with pytest.raises(SpecError, match=r"^job\.yaml: note: expected text"):
        parse_job_file(GOOD).spec(note=5)


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#%@`,?~0.\n\t \0é\ud800")))
def test_whatever_is_written_is_a_spec_or_a_spec_error(text: str) -> None:
    """No text brings the reader down."""
    with pytest.raises(SpecError):
        parse_job_file(text).spec()
