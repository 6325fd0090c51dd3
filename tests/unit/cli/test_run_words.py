"""Words behind `run`: a slice and values where a file knows the command, else a program."""

import pytest

from cli.errors import CliError
from cli.run_words import Words, sorted_words


@pytest.mark.parametrize(
    "words, expected",
    [
        pytest.param([], Words(command=[]), id="nothing"),
        pytest.param(["lr=1", "b=2"], Words(overrides=["lr=1", "b=2"]), id="values"),
        pytest.param(["v4-1", "lr=1"], Words(slice="v4-1", overrides=["lr=1"]), id="both"),
        pytest.param(["@last"], Words(slice="@last"), id="a handle"),
        pytest.param(["python", "t.py"], Words(command=["python", "t.py"]), id="a program"),
        pytest.param(["./t.py", "lr=1"], Words(command=["./t.py", "lr=1"]), id="a path"),
        pytest.param(["python", "-m", "t"], Words(command=["python", "-m", "t"]), id="options"),
        pytest.param(["t", "x", "lr=1"], Words(command=["t", "x", "lr=1"]), id="more words"),
    ],
)
def test_words_are_sorted_where_a_file_knows_the_command(words: list[str], expected: Words) -> None:
    """A slice first, then values; anything else is a program."""
    assert expected == sorted_words(words, is_program=False, knows_command=True)


@pytest.mark.parametrize("is_program, knows_command", [(True, True), (False, False)])
def test_otherwise_all_words_are_a_program(*, is_program: bool, knows_command: bool) -> None:
    """Behind two hyphens, and where nothing else is known."""
    words = ["v4-1", "lr=1"]
    found = sorted_words(words, is_program=is_program, knows_command=knows_command)

    assert Words(command=words) == found


@pytest.mark.parametrize(
    "words, told",
    [
        pytest.param(["lr=1", "t.py"], "t.py stands behind lr=1", id="the slice behind"),
        pytest.param(["v4-1", "lr=1", "--env", "A=1"], "--env stands behind lr=1", id="a flag"),
        pytest.param(["lr=1", "--wait"], "--wait stands behind lr=1", id="a flag, no slice"),
    ],
)
def test_what_stands_behind_values_is_refused(words: list[str], told: str) -> None:
    """It would be taken for a program otherwise."""
    with pytest.raises(CliError, match=f"^{told}: flags come first"):
        sorted_words(words, is_program=False, knows_command=True)


def test_values_need_something_that_they_change() -> None:
    """No program is called so."""
    with pytest.raises(CliError, match=r"^lr=1 changes an argument, and nothing says of what"):
        sorted_words(["lr=1", "train"], is_program=False, knows_command=False)
