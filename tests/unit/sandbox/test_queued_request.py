"""What a request for a queued resource may say, and what becomes of it for that."""

import pytest

from sandbox.errors import ApiError
from sandbox.queued_request import QueuedRequest
from sandbox.resources import Initiator, QueuedState
from shared.core.catalog import Tier
from tests.clouds import ACTIVE_AT, make_cloud, queued_name, state, wish

FLEX_ZONE = "projects/sandbox/locations/us-west4-a"
FLEX_NODE = {"accelerator_type": "v5litepod-4", "runtime_version": "v2-alpha-tpuv5-lite"}


def request(**fields: object) -> QueuedRequest:
    """Ask for one node."""
    return QueuedRequest((wish("a"),), Tier.SPOT, body={}, **fields)  # type: ignore[arg-type]  # a table of fields


@pytest.mark.parametrize("window", [{"valid_until": 60.0}, {"valid_for_s": 60.0}])
def test_expired_request_stays_as_failed_and_holds_its_name(window: dict[str, float]) -> None:
    """Until somebody deletes it."""
    cloud = make_cloud(capacity={"us-central2-b/v4-16": 0})
    cloud.create_queued_resource(queued_name("a"), request(**window))
    cloud.advance(59)
    assert QueuedState.WAITING_FOR_RESOURCES == state(cloud)

    cloud.advance(100_000)

    queued = cloud.queued_resource(queued_name("a"))
    assert QueuedState.FAILED == queued.state
    assert queued.error
    assert 4 == queued.error["code"]
    with pytest.raises(ApiError, match="already exists"):
        cloud.create_queued_resource(queued_name("a"), request())
    cloud.delete_queued_resource(queued_name("a"))
    cloud.advance(200_000)
    assert {} == dict(cloud.queued_resources)


@pytest.mark.parametrize("window", [{"valid_after": 500.0}, {"valid_after_s": 500.0}])
def test_request_is_not_served_before_its_window_opens(window: dict[str, float]) -> None:
    """There was capacity all the time."""
    cloud = make_cloud()
    cloud.create_queued_resource(queued_name("a"), request(**window))

    cloud.advance(499)
    assert QueuedState.WAITING_FOR_RESOURCES == state(cloud)
    cloud.advance(500)

    assert QueuedState.PROVISIONING == state(cloud)


def test_request_that_became_active_does_not_expire() -> None:
    """The window is about waiting."""
    cloud = make_cloud()
    cloud.create_queued_resource(queued_name("a"), request(valid_until=ACTIVE_AT + 1))

    cloud.advance(1_000)

    assert QueuedState.ACTIVE == state(cloud)


@pytest.mark.parametrize(
    "window", [{"valid_until": 0.0}, {"valid_after": 50.0, "valid_until": 40.0}]
)
def test_window_that_is_never_open_is_refused(window: dict[str, float]) -> None:
    """At once, not by waiting."""
    with pytest.raises(ApiError, match="the time to wait ends before it begins"):
        make_cloud().create_queued_resource(queued_name("a"), request(**window))


def test_flex_start_is_taken_back_when_its_time_is_over() -> None:
    """By the service, as a preemption is."""
    cloud = make_cloud()
    name = f"{FLEX_ZONE}/queuedResources/f"
    flex = QueuedRequest(
        (wish("f", **FLEX_NODE),), Tier.SPOT, body={}, is_flex_start=True, run_for_s=600
    )
    cloud.create_queued_resource(name, flex)
    cloud.advance(ACTIVE_AT + 599)
    assert QueuedState.ACTIVE == cloud.queued_resource(name).state

    cloud.advance(ACTIVE_AT + 600 + 30)

    queued = cloud.queued_resource(name)
    assert (QueuedState.SUSPENDED, Initiator.SERVICE) == (queued.state, queued.initiator)
    assert {} == dict(cloud.nodes)


@pytest.mark.parametrize(
    "location, fields, words",
    [
        ("", {"is_flex_start": True, "run_for_s": 60}, "not offered for v4-16"),
        (FLEX_ZONE, {"is_flex_start": True}, "at most 7 days"),
        (FLEX_ZONE, {"is_flex_start": True, "run_for_s": 7 * 86_400 + 1}, "at most 7 days"),
        ("", {"run_for_s": 60}, "only supported with FLEX_START"),
    ],
)
def test_flex_start_is_refused_outside_its_limits(
    location: str, fields: dict[str, object], words: str
) -> None:
    """A week at most, and only where it is offered."""
    node = wish("a", **FLEX_NODE) if location else wish("a")
    asked = QueuedRequest((node,), Tier.SPOT, body={}, **fields)  # type: ignore[arg-type]  # a table of fields
    name = f"{location}/queuedResources/a" if location else queued_name("a")

    with pytest.raises(ApiError, match=words):
        make_cloud().create_queued_resource(name, asked)
