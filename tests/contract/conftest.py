"""Counts how many cases of each port's contract every adapter passed: they must be the same."""

from __future__ import annotations

import pytest

from tests.counting import hold_to_contract

ADAPTERS = {"fake", "firestore", "google", "memory", "pubsub", "sqlite"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Remember which test holds which adapter to which port's contract."""
    for item in items:
        if item.path.stem.endswith("_contract") and isinstance(item, pytest.Function):
            params = item.callspec.params if hasattr(item, "callspec") else {}
            for adapter in ADAPTERS & {str(value) for value in params.values()}:
                hold_to_contract(item, item.path.stem.removeprefix("test_"), adapter)
