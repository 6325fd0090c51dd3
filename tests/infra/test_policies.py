"""The plan that is kept is sound, and it is of the files that are committed."""

from __future__ import annotations

from tests.infra import plans, policies


def test_the_recorded_plan_breaks_no_policy() -> None:
    """What is committed is sound."""
    found = policies.findings(plans.recorded())

    assert () == found


def test_the_recorded_plan_is_of_these_files() -> None:
    """Else the policies judge another installation; next: make infra-check ARGS=--record."""
    assert plans.fingerprint() == plans.recorded_source()


def test_a_plan_that_was_kept_is_read_as_it_was() -> None:
    """Nothing is lost between the file and the policies."""
    plan = plans.recorded()

    assert plan == plans.load(plans.dump(plan, "source"))
