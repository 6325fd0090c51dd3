"""What may become of a queued resource."""

import pytest

from sandbox.errors import ApiError
from sandbox.queued_request import QueuedRequest
from sandbox.resources import Power, QueuedState
from shared.core.catalog import Tier
from tests.clouds import (
    ACTIVE_AT,
    BOOTED_AT,
    LOCATION,
    active_cloud,
    ask,
    make_cloud,
    queued_name,
    state,
    wish,
)


def test_queued_resource_does_not_exist_before_its_create_operation_ends() -> None:
    """A 200 of the create call is no proof of existence."""
    cloud = make_cloud()
    operation = ask(cloud, "a")

    cloud.advance(9.9)

    assert cloud.operation(operation).ended_at is None
    with pytest.raises(ApiError) as error:
        cloud.queued_resource(queued_name("a"))
    assert "NOT_FOUND" == error.value.status


@pytest.mark.parametrize(
    "at, expected",
    [
        (10.0, QueuedState.CREATING),
        (11.0, QueuedState.WAITING_FOR_RESOURCES),
        (21.0, QueuedState.PROVISIONING),
        (ACTIVE_AT, QueuedState.ACTIVE),
    ],
)
def test_request_passes_through_googles_states(at: float, expected: QueuedState) -> None:
    """The states follow each other after the delays of the settings."""
    cloud = make_cloud()
    ask(cloud, "a")

    cloud.advance(at)

    assert expected == state(cloud)


def test_one_long_step_of_time_equals_many_short_ones() -> None:
    """Nothing depends on how often time is advanced."""
    stepped, jumped = make_cloud(), make_cloud()
    for cloud in (stepped, jumped):
        ask(cloud, "a")

    for tenth in range(1, int(BOOTED_AT * 10) + 1):
        stepped.advance(tenth / 10)
    jumped.advance(BOOTED_AT)

    assert dict(jumped.hosts) == dict(stepped.hosts)
    assert dict(jumped.queued_resources) == dict(stepped.queued_resources)


def test_delete_of_an_active_request_needs_force() -> None:
    """Without it the call is refused and nothing changes."""
    cloud = active_cloud()

    with pytest.raises(ApiError, match="cannot be deleted while in state ACTIVE") as error:
        cloud.delete_queued_resource(queued_name("a"))

    assert (400, "FAILED_PRECONDITION") == (error.value.http_code, error.value.status)
    assert QueuedState.ACTIVE == state(cloud)


def test_delete_is_refused_while_suspending_even_with_force() -> None:
    """Whoever wants it gone has to wait until it is SUSPENDED."""
    cloud = active_cloud()
    cloud.preempt(f"{LOCATION}/nodes/a", notice=False)

    with pytest.raises(ApiError, match="SUSPENDING"):
        cloud.delete_queued_resource(queued_name("a"), force=True)


def test_hosts_of_a_deleted_request_run_until_it_is_gone() -> None:
    """DELETING proves nothing about writers."""
    cloud = active_cloud()
    operation = cloud.delete_queued_resource(queued_name("a"), force=True).name

    cloud.advance(BOOTED_AT + 49)
    assert Power.ON == cloud.host("a-w-0").power
    assert QueuedState.DELETING == state(cloud)
    cloud.advance(BOOTED_AT + 50)

    assert {} == dict(cloud.queued_resources)
    assert {} == dict(cloud.hosts)
    assert BOOTED_AT + 50 == cloud.operation(operation).ended_at


def test_request_without_capacity_waits_until_there_is_some() -> None:
    """First come, first served."""
    cloud = active_cloud(capacity={"us-central2-b/v4-16": 1})
    ask(cloud, "b")
    ask(cloud, "c")
    cloud.advance(1_000)
    assert [QueuedState.WAITING_FOR_RESOURCES] * 2 == [state(cloud, "b"), state(cloud, "c")]

    cloud.delete_queued_resource(queued_name("a"), force=True)
    cloud.advance(1_051)

    assert QueuedState.PROVISIONING == state(cloud, "b")
    assert QueuedState.WAITING_FOR_RESOURCES == state(cloud, "c")


def test_request_without_capacity_fails_when_the_settings_say_so() -> None:
    """A stockout is code 8 with Google's text."""
    cloud = make_cloud(capacity={"us-central2-b/v4-16": 0}, stockout="fail")
    ask(cloud, "a")

    cloud.advance(100)

    queued = cloud.queued_resource(queued_name("a"))
    assert QueuedState.FAILED == queued.state
    assert queued.error
    assert 8 == queued.error["code"]
    assert 'There is no more capacity in the zone "us-central2-b"' in str(queued.error["message"])


def test_request_fails_when_its_time_to_wait_is_over() -> None:
    """The queueing policy is honoured."""
    cloud = make_cloud(capacity={"us-central2-b/v4-16": 0})
    request = QueuedRequest((wish("a"),), Tier.SPOT, body={}, valid_for_s=60)
    cloud.create_queued_resource(queued_name("a"), request)

    cloud.advance(59)
    assert QueuedState.WAITING_FOR_RESOURCES == state(cloud)
    cloud.advance(60)

    assert QueuedState.FAILED == state(cloud)


def test_repeated_request_id_answers_the_same_operation() -> None:
    """A retried call makes nothing twice."""
    cloud = make_cloud()

    first, second = (ask(cloud, "a", request_id="r1") for _ in range(2))

    assert first == second
    with pytest.raises(ApiError, match="already exists"):
        ask(cloud, "a", request_id="r2")


def test_create_operation_that_fails_leaves_nothing() -> None:
    """Only the operation knows why nothing came to be."""
    cloud = make_cloud()
    request = QueuedRequest((wish("a"),), Tier.SPOT, body={})
    failing = ApiError("INTERNAL", "an internal error has occurred")
    operation = cloud.create_queued_resource(queued_name("a"), request, failing=failing).name

    cloud.advance(100)

    error = cloud.operation(operation).error
    assert error
    assert (13, "an internal error has occurred") == (error["code"], error["message"])
    assert {} == dict(cloud.queued_resources)
