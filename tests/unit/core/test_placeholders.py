"""Known names in braces are replaced; everything else in braces is the user's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.core.placeholders import PLACEHOLDERS, misspelled, substitute

VALUES = {name: f"<{name}>" for name in PLACEHOLDERS}


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("--dir={output_dir}/{host}", "--dir=<output_dir>/<host>", id="known"),
        pytest.param("{{job}}", "{job}", id="doubled braces are literal"),
        pytest.param('{"a": {"b": 1}}', '{"a": {"b": 1}}', id="JSON stays"),
        pytest.param('{"a":{job}}', '{"a":<job>}', id="a name within JSON"),
        pytest.param("{foo} ${HOME} {}", "{foo} ${HOME} {}", id="unknown names stay"),
        pytest.param("{job", "{job", id="an open brace stays"),
    ],
)
def test_only_known_names_are_replaced(text: str, expected: str) -> None:
    """Braces are common in arguments; only ours have a meaning."""
    assert expected == substitute(text, VALUES)


@given(st.text(alphabet="ab{}$\"' "))
def test_text_without_known_names_is_never_changed(text: str) -> None:
    """Nothing is unescaped, dropped or doubled by the way."""
    assert text == substitute(text, VALUES)


def test_near_misses_are_pointed_out() -> None:
    """A misspelled placeholder is no error, but worth a word."""
    expected = {"chekpoint_dir": "checkpoint_dir", "Job": "job"}

    assert expected == misspelled("--a={chekpoint_dir} {Job} {job} {step} {{hots}}")
