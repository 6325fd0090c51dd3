"""Times as people type them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import typer

from cli.times import moment, seconds

NOW = datetime(2026, 5, 31, 12, 0, tzinfo=UTC).astimezone()


@pytest.mark.parametrize(
    "written, expected",
    [
        pytest.param("90", 90, id="seconds"),
        pytest.param("45s", 45, id="seconds with their unit"),
        pytest.param("2h30m", 9000, id="two units"),
        pytest.param("3d", 259200, id="days"),
    ],
)
def test_lengths_are_read(written: str, expected: float) -> None:
    """In seconds."""
    assert expected == seconds("--timeout", written)


@pytest.mark.parametrize("written", ["", "m", "5x", "-5", "1.5h", "5m2h", "½h"])
def test_what_is_no_length_is_refused(written: str) -> None:
    """Naming the flag and what it could have been."""
    with pytest.raises(typer.BadParameter, match=r"--timeout: .* is no time such as 90, 5m"):
        seconds("--timeout", written)


@pytest.mark.parametrize("written", ["99999d", "9999d1s", "9" * 99, "239977h"])
def test_a_length_that_is_too_long_is_called_so(written: str) -> None:
    """With the longest one."""
    with pytest.raises(typer.BadParameter, match=r"--hold: .* is too long: at most 9999d"):
        seconds("--hold", written)


def test_the_longest_length_is_read() -> None:
    """In whatever unit."""
    assert 9999 * 86400 == seconds("--hold", "9999d") == seconds("--hold", "239976h")


def _at(hour: int, minute: int, *, days: int = 0) -> datetime:
    midnight = NOW.replace(hour=hour, minute=minute, second=0, microsecond=0)
    return midnight - timedelta(days=days)


@pytest.mark.parametrize(
    "written, expected",
    [
        pytest.param("10m", NOW - timedelta(minutes=10), id="so long ago"),
        pytest.param("0:05", _at(0, 5), id="earlier today"),
        pytest.param("23:59", _at(23, 59, days=1), id="a time to come was yesterday's"),
        pytest.param("2026-05-30T10:00+02:00", datetime(2026, 5, 30, 8, tzinfo=UTC), id="zone"),
        pytest.param("2026-05-30", _at(0, 0, days=1), id="a date is the reader's own"),
    ],
)
def test_moments_are_read(written: str, expected: datetime) -> None:
    """In UTC."""
    found = moment("--since", written, NOW)

    assert expected == found
    assert timedelta(0) == found.utcoffset()


@pytest.mark.parametrize("written", ["", "noon", "25:00", "10:99", "2026-13-01"])
def test_what_is_no_moment_is_refused(written: str) -> None:
    """Naming the flag and what it could have been."""
    with pytest.raises(typer.BadParameter, match=r"--since: .* is neither so long ago"):
        moment("--since", written, NOW)


@pytest.mark.parametrize("written", ["2026-05-31T12:00:01+00:00", "2035-01-01", "9998-12-31"])
def test_what_is_still_to_come_is_refused(written: str) -> None:
    """Nothing has happened since."""
    with pytest.raises(typer.BadParameter, match=r"^--since: '.*' is still to come$"):
        moment("--since", written, NOW)


def test_now_is_not_still_to_come() -> None:
    """Nor is anything before."""
    assert NOW == moment("--since", "2026-05-31T12:00+00:00", NOW)


@pytest.fixture(params=["Asia/Tokyo", "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Live somewhere else."""
    with monkeypatch.context() as there:
        there.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("written", ["0001-01-01", "9999-12-31T23:59"])
def test_the_ends_of_the_calendar_are_refused(written: str) -> None:
    """Elsewhere it is a year that no calendar has."""
    with pytest.raises(typer.BadParameter, match=r"--since: .* is neither so long ago"):
        moment("--since", written, NOW)


@pytest.mark.usefixtures("zone")
def test_what_is_long_ago_is_read_anywhere() -> None:
    """And can be shown there."""
    found = moment("--since", "0002-01-01", NOW)

    assert datetime(2, 1, 1) == found.astimezone().replace(tzinfo=None)  # noqa: DTZ001
