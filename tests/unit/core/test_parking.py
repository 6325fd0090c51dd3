"""What can be done about a parked message follows from where it came from."""

from __future__ import annotations

import pytest

from shared.core.parking import SUBSCRIPTIONS, Way, advise, subscription_of
from shared.topology import SUBSCRIPTIONS as DEPLOYED


def test_every_subscription_has_its_advice() -> None:
    """But that of the function that parks; and an event's topic is the one it came from."""
    deployed = {each.name: each.topic for each in DEPLOYED if each.dead_letter_topic}

    assert set(deployed) == set(SUBSCRIPTIONS)
    for name, topic in deployed.items():
        assert advise(name).topic == (topic if advise(name).way is Way.EVENT else "")


@pytest.mark.parametrize(
    "source, name",
    [
        pytest.param("launch", "launch", id="plain"),
        pytest.param("tpuctl-launch", "launch", id="with a prefix"),
        pytest.param("lab-launch-commands", "launch-commands", id="one name begins another"),
        pytest.param("my-report-audit", "report-audit", id="one name begins another, too"),
        pytest.param("strange", "strange", id="unknown"),
    ],
)
def test_a_source_is_named_without_its_prefix(source: str, name: str) -> None:
    """In Google Cloud each installation has its own."""
    assert name == subscription_of(source)
