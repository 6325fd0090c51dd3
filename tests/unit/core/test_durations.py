"""Durations are written as people say them."""

import pytest

from shared.core.durations import spoken


@pytest.mark.parametrize(
    "seconds, said",
    [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "119 min"), (7260, "2 h 1 min")],
)
def test_durations_are_written_as_people_say_them(seconds: float, said: str) -> None:
    """Short ones to the second."""
    assert said == spoken(seconds)
