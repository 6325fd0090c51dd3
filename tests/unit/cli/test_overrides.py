"""Values behind a command change single arguments of it."""

import pytest

from cli.overrides import PLAIN, Style, applied, is_override
from shared.errors import SpecError

HYDRA = Style({"lr": "optimizer.lr"}, "{key}={value}")


@pytest.mark.parametrize(
    "words, overrides, style, expected",
    [
        pytest.param(["a", "--lr=1"], ["lr=2"], PLAIN, ["a", "--lr=2"], id="replaced"),
        pytest.param(["a", "--lr", "1"], ["lr=2"], PLAIN, ["a", "--lr", "1", "--lr=2"], id="added"),
        pytest.param(["a", "--x=1", "--x=2"], ["x=3"], PLAIN, ["a", "--x=1", "--x=3"], id="last"),
        pytest.param(["a", "--lrx=1"], ["lr=2"], PLAIN, ["a", "--lrx=1", "--lr=2"], id="exactly"),
        pytest.param(["x=1"], ["x=2"], HYDRA, ["x=1", "x=2"], id="not the program"),
        pytest.param(["a", "optimizer.lr=1"], ["lr=2"], HYDRA, ["a", "optimizer.lr=2"], id="alias"),
        pytest.param(["a"], ["x=", "y=b=c d"], PLAIN, ["a", "--x=", "--y=b=c d"], id="any value"),
        pytest.param(["a"], [], PLAIN, ["a"], id="none"),
    ],
)
def test_arguments_are_changed_where_they_stand(
    words: list[str], overrides: list[str], style: Style, expected: list[str]
) -> None:
    """Or added at the end, where every parser lets the last one win."""
    assert {"command": expected} == applied({"command": words}, overrides, style)


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="no command"),
        pytest.param({"shell": "train --lr=1"}, id="a line for a shell"),
        pytest.param({"command": "train"}, id="a text"),
    ],
)
def test_there_must_be_words_to_change(spec: dict[str, object]) -> None:
    """A text of shell code is never written into."""
    with pytest.raises(SpecError, match="lr=1: changes an argument of command"):
        applied(spec, ["lr=1"], PLAIN)


@pytest.mark.parametrize("word", ["lr=1", "a.b-c_d=", "LR=x=y", "x=\n"])
def test_a_key_and_a_value_are_an_override(word: str) -> None:
    """Whatever the value."""
    assert is_override(word)


@pytest.mark.parametrize("word", ["lr", "--lr=1", "=1", "./a=1", "1=2", ""])
def test_everything_else_is_a_word(word: str) -> None:
    """Options of a program among them."""
    assert not is_override(word)
