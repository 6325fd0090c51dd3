"""Prints how many points each use case has, and how many of them were really hit."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

import pytest

from tests.crash.enumerating import Tally

# How the counts of pairs are named.
PAIRS = " (pairs)"
_TALLIES = pytest.StashKey[dict[str, Tally]]()


@pytest.fixture
def tallies(pytestconfig: pytest.Config) -> dict[str, Tally]:
    """Give the counts that are printed at the end, by use case."""
    return pytestconfig.stash.setdefault(_TALLIES, {})


@pytest.fixture
def quiet() -> Iterator[None]:
    """Log nothing: thousands of faults say what nobody reads."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the counts."""
    tallies = config.stash.get(_TALLIES, {})
    singles = {name: each for name, each in tallies.items() if not name.endswith(PAIRS)}
    pairs = [each for name, each in tallies.items() if name.endswith(PAIRS)]
    for name, tally in sorted(singles.items()):
        terminalreporter.write_line(f"{name}: {_counted([tally])}")
    for what, found in (("crash points", [*singles.values()]), ("pairs of them", pairs)):
        if found:
            terminalreporter.write_line(f"{what}: {_counted(found)}")


def _counted(tallies: Sequence[Tally]) -> str:
    enumerated, hit = sum(each.enumerated for each in tallies), sum(each.hit for each in tallies)
    return f"enumerated {enumerated} points, hit {hit}"
