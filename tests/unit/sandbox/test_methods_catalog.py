"""What there is to be had: locations, types, versions."""

import pytest

from sandbox.errors import ApiError
from tests.clouds import LOCATION, api_of, make_cloud


@pytest.mark.parametrize(
    "method, collection, item, version",
    [
        ("ListAcceleratorTypes", "acceleratorTypes", "v4-16", "v2"),
        ("ListAcceleratorTypes", "acceleratorTypes", "v4-16", "v1"),
        ("ListRuntimeVersions", "runtimeVersions", "tpu-ubuntu2204-base", "v2alpha1"),
        ("ListTensorFlowVersions", "tensorflowVersions", "nightly", "v1"),
    ],
)
def test_what_is_offered_can_be_listed_and_read(
    method: str, collection: str, item: str, version: str
) -> None:
    """Under the names that requests use."""
    api = api_of(make_cloud())
    read = method.replace("List", "Get").removesuffix("s")

    listed = api.call(method, LOCATION, version=version)[collection]
    row = api.call(read, LOCATION, item, version=version)

    assert isinstance(listed, list)
    assert row in listed
    assert f"{LOCATION}/{collection}/{item}" == row["name"]


def test_locations_are_those_that_the_project_may_use() -> None:
    """And no others can be read."""
    api = api_of(make_cloud(zones=["us-central2-b", "us-east5-a"]))

    listed = api.call("ListLocations", "projects/sandbox")["locations"]

    assert isinstance(listed, list)
    assert ["us-central2-b", "us-east5-a"] == [row["locationId"] for row in listed]
    assert listed[0] == api.call("GetLocation", LOCATION)
    with pytest.raises(ApiError) as error:
        api.call("ListLocations", "projects/other")
    assert (403, "CONSUMER_INVALID") == (
        error.value.http_code,
        error.value.details[0]["reason"],
    )
