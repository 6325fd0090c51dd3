"""Columns, ages and times as people read them."""

from datetime import UTC, datetime, timedelta

import pytest

from cli import tables

NOON = datetime(2030, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "seconds, text",
    [
        (-3, "0s"),
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m00s"),
        (3599, "59m59s"),
        (3600 * 5 + 420, "5h07m"),
        (86400 * 3 + 3600 * 4, "3d4h"),
    ],
)
def test_duration_has_two_figures_at_most(seconds: float, text: str) -> None:
    """Nobody needs the seconds of a day."""
    assert text == tables.duration(timedelta(seconds=seconds))


def test_age_of_what_never_was_is_a_dash() -> None:
    """As in every empty cell."""
    assert ("-", "1m00s") == (
        tables.age(None, NOON),
        tables.age(NOON - timedelta(minutes=1), NOON),
    )


def test_clock_says_the_day_only_when_it_is_another() -> None:
    """In the reader's time zone."""
    assert len("12:00:00") == len(tables.clock(NOON, NOON))
    assert len("01 Jan 12:00:00") == len(tables.clock(NOON - timedelta(days=1), NOON))


@pytest.mark.parametrize(
    "text, room, shown",
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("ab cd", 4, "ab…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("abc", 0, ""),
    ],
)
def test_cut_counts_cells_not_characters(text: str, room: int, shown: str) -> None:
    """A wide character takes two of them."""
    assert shown == tables.cut(text, room)


def test_columns_line_up_and_empty_ones_are_left_out() -> None:
    """Numbers to the right, words to the left."""
    rows = [("N", "NAME", "X"), ("1", "a", ""), ("10", "日本", "")]

    assert [" N  NAME  X", " 1  a", "10  日本"] == (
        tables.table(rows, columns=40, right=frozenset({0}))
    )
    assert ["1  a", "2  b"] == tables.table([("1", "", "a"), ("2", "", "b")], columns=40)


def test_elastic_column_gives_way() -> None:
    """The others keep their words."""
    rows = [("1", "a-long-name-of-a-job", "running"), ("2", "b", "queued")]

    assert ["1  a-long-na…  running", "2  b           queued"] == (
        tables.table(rows, columns=22, elastic=1)
    )
