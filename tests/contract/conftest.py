"""Prints how many cases of each port's contract every adapter passed: they must be the same."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

ADAPTERS = {"fake", "firestore", "google", "memory", "pubsub", "sqlite"}
_ADAPTER = pytest.StashKey[dict[str, tuple[str, str]]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remember which test holds which adapter to which port's contract."""
    held = config.stash.setdefault(_ADAPTER, {})
    for item in items:
        if item.path.stem.endswith("_contract") and isinstance(item, pytest.Function):
            params = item.callspec.params if hasattr(item, "callspec") else {}
            for adapter in ADAPTERS & {str(value) for value in params.values()}:
                held[item.nodeid] = (item.path.stem.removeprefix("test_"), adapter)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the counts."""
    held = config.stash.get(_ADAPTER, {})
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for report in terminalreporter.stats.get("passed", []):
        if report.when == "call" and report.nodeid in held:
            port, adapter = held[report.nodeid]
            counts[port][adapter] += 1
    for port, passed in sorted(counts.items()):
        told = ", ".join(f"{adapter} {count}" for adapter, count in sorted(passed.items()))
        terminalreporter.write_line(f"{port.replace('_', ' ')}: {told}")
