"""Durations that only make sense together."""

import pytest

from shared.core.policy import EMBEDDED, Policy


@pytest.mark.parametrize("policy", [Policy(), EMBEDDED], ids=["google", "embedded"])
def test_a_host_may_miss_a_snapshot_before_it_is_silent(policy: Policy) -> None:
    """One that has nothing new to say speaks once an interval, and its message may come late."""
    assert policy.silent_host_s >= 2.5 * policy.snapshot_s


@pytest.mark.parametrize("policy", [Policy(), EMBEDDED], ids=["google", "embedded"])
def test_silence_of_all_is_noticed_before_one_is_given_up(policy: Policy) -> None:
    """A whole slice is given longer than a host, and the canary's history is shorter."""
    assert policy.silent_slice_s > policy.silent_host_s
    assert policy.canary_s <= policy.silent_slice_s
