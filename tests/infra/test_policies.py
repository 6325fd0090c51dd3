"""The plan that is kept is sound and of the files that are committed; policies find faults."""

from __future__ import annotations

import pytest

from tests.infra import plans, planted_accounts, planted_messages, planted_services, policies
from tests.infra.planted import Break, found

FAULTS = [*planted_accounts.FAULTS, *planted_messages.FAULTS, *planted_services.FAULTS]


def test_the_recorded_plan_breaks_no_policy() -> None:
    """What is committed is sound."""
    assert () == policies.findings(plans.recorded())


def test_the_recorded_plan_is_of_these_files() -> None:
    """Else the policies judge another installation; next: make infra-check ARGS=--record."""
    assert plans.fingerprint() == plans.recorded_source()


def test_a_plan_that_was_kept_is_read_as_it_was() -> None:
    """Nothing is lost between the file and the policies."""
    plan = plans.recorded()

    assert plan == plans.load(plans.dump(plan, "source"))


@pytest.mark.parametrize("policy, planted, says", FAULTS)
def test_a_planted_fault_is_found(policy: str, planted: Break, says: str) -> None:
    """The policy fails, and says what is wrong."""
    problem = found(policy, planted)

    assert says in problem


def test_every_policy_has_a_fault_that_it_finds() -> None:
    """A policy without a fault could be one that cannot fail."""
    tried = {str(each.values[0]) for each in FAULTS}

    assert set(policies.POLICIES) == tried
