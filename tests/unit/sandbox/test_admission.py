"""What the Cloud TPU API refuses, and when."""

import pytest

from sandbox.errors import ApiError
from sandbox.queued_request import QueuedRequest
from sandbox.resources import QueuedState
from sandbox.settings import CallFailure
from shared.core.catalog import Tier
from tests.clouds import (
    LOCATION,
    Fields,
    active_cloud,
    ask,
    make_cloud,
    queued_name,
    state,
    wish,
)


def test_stuck_delete_ends_when_it_is_ordered_again() -> None:
    """Both operations end then."""
    cloud = active_cloud(stuck_deletes=1)
    first = cloud.delete_queued_resource(queued_name("a"), force=True).name
    cloud.advance(10_000)
    assert QueuedState.DELETING == state(cloud)

    second = cloud.delete_queued_resource(queued_name("a"), force=True).name
    cloud.advance(10_050)

    assert {} == dict(cloud.queued_resources)
    assert [10_050, 10_050] == [cloud.operation(name).ended_at for name in (first, second)]


def test_suspended_request_blocks_its_name_and_its_quota() -> None:
    """Until it is deleted, nothing can take its place."""
    cloud = active_cloud(quota={"us-central2/v4/spot": 8})
    cloud.preempt(f"{LOCATION}/nodes/a", notice=False)
    cloud.advance(1_000)

    with pytest.raises(ApiError, match="already exists"):
        ask(cloud, "a")
    with pytest.raises(ApiError, match="has been exceeded") as error:
        ask(cloud, "b")

    assert (429, "RESOURCE_EXHAUSTED") == (error.value.http_code, error.value.status)
    assert "google.rpc.QuotaFailure" in str(error.value.details)
    cloud.delete_queued_resource(queued_name("a"))
    cloud.advance(1_050)
    ask(cloud, "b")


def test_quota_is_told_apart_by_tier() -> None:
    """A full spot quota does not stand in the way of on-demand."""
    cloud = make_cloud(quota={"us-central2/v4/spot": 0})

    cloud.create_node(LOCATION, wish("paid"), Tier.ON_DEMAND)

    with pytest.raises(ApiError, match="Preemptible"):
        cloud.create_node(LOCATION, wish("spot"), Tier.SPOT)


def test_quota_counts_every_generation_of_a_request() -> None:
    """Whichever node stands first."""
    place = "projects/sandbox/locations/us-east5-a"
    cloud = make_cloud(quota={"us-east5/v5p/spot": 0})
    runtimes = {"v6e-1": "v2-alpha-tpuv6e", "v5p-8": "v2-alpha-tpuv5"}
    wishes = tuple(
        wish(kind, accelerator_type=kind, runtime_version=runtimes[kind]) for kind in runtimes
    )

    with pytest.raises(ApiError, match="V5P"):
        cloud.create_queued_resource(
            f"{place}/queuedResources/q", QueuedRequest(wishes, Tier.SPOT, body={})
        )


@pytest.mark.parametrize(
    "fields, status, message",
    [
        pytest.param({"accelerator_type": "v4-17"}, "INVALID_ARGUMENT", "v4-17", id="no such type"),
        pytest.param(
            {"accelerator_type": "v6e-8"},
            "INVALID_ARGUMENT",
            "was not found in zone us-central2-b",
            id="type not in this zone",
        ),
        pytest.param(
            {"runtime_version": "v2-alpha-tpuv6e"},
            "INVALID_ARGUMENT",
            "Invalid runtimeVersion",
            id="runtime of another generation",
        ),
        pytest.param(
            {"metadata": {"big": "x" * (256 * 1024 + 1)}},
            "INVALID_ARGUMENT",
            "too large",
            id="metadata value too large",
        ),
        pytest.param(
            {"metadata": {str(number): "x" * 200_000 for number in range(3)}},
            "INVALID_ARGUMENT",
            "the maximum is 524288",
            id="metadata too large in all",
        ),
        pytest.param(
            {"labels": {"Upper": "x"}}, "INVALID_ARGUMENT", "Invalid label", id="bad label"
        ),
    ],
)
def test_bad_node_is_refused_at_once(fields: Fields, status: str, message: str) -> None:
    """Before there is any operation."""
    cloud = make_cloud()

    with pytest.raises(ApiError, match=message) as error:
        ask(cloud, "a", fields=fields)

    assert status == error.value.status
    assert {} == dict(cloud.operations)


@pytest.mark.parametrize("name", ["A", "1a", "a_b", "a-", "a" * 64, ""])
def test_bad_id_is_refused(name: str) -> None:
    """Names follow RFC 1035."""
    with pytest.raises(ApiError, match="Invalid queued_resource_id"):
        ask(make_cloud(), name)


@pytest.mark.parametrize(
    "settings, location, status",
    [
        pytest.param(
            {}, "projects/sandbox/locations/mars-a", "PERMISSION_DENIED", id="no such zone"
        ),
        pytest.param(
            {}, "projects/other/locations/us-central2-b", "PERMISSION_DENIED", id="other project"
        ),
        pytest.param({"zones": ["us-east1-d"]}, LOCATION, "PERMISSION_DENIED", id="no access"),
        pytest.param({"unreachable": ["us-central2-b"]}, LOCATION, "UNAVAILABLE", id="silent zone"),
    ],
)
def test_location_that_cannot_be_used_is_refused(
    settings: dict[str, object], location: str, status: str
) -> None:
    """Access, existence and reachability are told apart as Google does."""
    with pytest.raises(ApiError) as error:
        make_cloud(**settings).check_location(location)

    assert status == error.value.status


def test_ordered_failures_are_used_up_one_by_one() -> None:
    """And only by the method that they name."""
    cloud = make_cloud(failures=[CallFailure(method="GetNode", code=503, count=2)])

    taken = [cloud.take_failure(method) for method in ("ListNodes", *["GetNode"] * 3)]

    assert [False, True, True, False] == [failure is not None for failure in taken]
