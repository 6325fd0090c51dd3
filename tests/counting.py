"""Prints what a run held to the same questions: crash points by use case, contracts by adapter.

The counts travel with the tests' reports, so that they arrive from every process of a run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pytest

# How the counts of pairs are named.
PAIRS: Final = " (pairs)"
_POINTS: Final = "crash points"
_CONTRACT: Final = "contract"


def count_points(request: pytest.FixtureRequest, name: str, enumerated: int, hit: int) -> None:
    """Let the run's end say how many points of a use case there were, and how many were hit."""
    request.node.user_properties.append((_POINTS, (name, enumerated, hit)))


def hold_to_contract(item: pytest.Item, port: str, adapter: str) -> None:
    """Let the run's end count this test for an adapter, if it passes."""
    item.user_properties.append((_CONTRACT, (port, adapter)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the counts."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    for line in (*_points(reports), *_contracts(reports)):
        terminalreporter.write_line(line)


def _points(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    counts: dict[str, tuple[int, int]] = {}
    for name, enumerated, hit in _properties(reports, _POINTS):
        counts[str(name)] = (int(str(enumerated)), int(str(hit)))
    pairs = {name for name in counts if name.endswith(PAIRS)}
    for name in sorted(counts.keys() - pairs):
        yield f"{name}: {_counted([counts[name]])}"
    for what, names in ((_POINTS, counts.keys() - pairs), ("pairs of them", pairs)):
        if names:
            yield f"{what}: {_counted([counts[name] for name in names])}"


def _counted(counts: Sequence[tuple[int, int]]) -> str:
    enumerated, hit = (sum(each) for each in zip(*counts, strict=True))
    return f"enumerated {enumerated} points, hit {hit}"


def _contracts(reports: Iterable[pytest.TestReport]) -> Iterator[str]:
    passed = (report for report in reports if report.passed)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for port, adapter in _properties(passed, _CONTRACT):
        counts[str(port)][str(adapter)] += 1
    for port, adapters in sorted(counts.items()):
        told = ", ".join(f"{adapter} {count}" for adapter, count in sorted(adapters.items()))
        yield f"{port.replace('_', ' ')}: {told}"


def _properties(reports: Iterable[pytest.TestReport], kind: str) -> Iterator[Sequence[object]]:
    for report in reports:
        for name, value in report.user_properties:
            if name == kind:
                assert isinstance(value, Sequence), "only this file writes them"
                yield value
