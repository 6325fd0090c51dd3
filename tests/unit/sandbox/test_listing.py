"""Pages, and places that do not answer."""

import pytest

from sandbox.errors import ApiError
from shared.core.catalog import Tier
from tests.clouds import LOCATION, api_of, make_cloud, wish

EVERYWHERE = "projects/sandbox/locations/-"


@pytest.mark.parametrize("size, pages", [("1", 3), ("2", 2), ("3", 1), ("0", 1), ("", 1)])
def test_pages_hold_everything_once(size: str, pages: int) -> None:
    """Whatever their size; the last one has no token."""
    cloud = make_cloud()
    for name in ("c", "a", "b"):
        cloud.create_node(LOCATION, wish(name), Tier.SPOT)
    api = api_of(cloud)
    seen: list[str] = []
    token = ""
    count = 0

    while count == 0 or token:
        page = api.call("ListNodes", LOCATION, "", {"pageSize": size, "pageToken": token})
        nodes = page["nodes"]
        assert isinstance(nodes, list)
        seen += [node["name"].rpartition("/")[2] for node in nodes]
        token = str(page.get("nextPageToken", ""))
        count += 1

    assert (["a", "b", "c"], pages) == (seen, count)


@pytest.mark.parametrize(
    "params, field",
    [
        ({"pageSize": "-1"}, "pageSize"),
        ({"pageSize": "many"}, "pageSize"),
        ({"pageToken": "%"}, "page_token"),
    ],
)
def test_bad_page_is_refused(params: dict[str, str], field: str) -> None:
    """The field is named."""
    with pytest.raises(ApiError) as error:
        api_of(make_cloud()).call("ListNodes", LOCATION, "", params)

    assert "INVALID_ARGUMENT" == error.value.status
    assert field in str(error.value.details)


@pytest.mark.parametrize(
    "location, setting, names, unreachable",
    [
        (EVERYWHERE, {}, ["b", "a"], None),
        (EVERYWHERE, {"unreachable": ["us-central2-b"]}, ["b"], [LOCATION]),
        (EVERYWHERE, {"hidden": ["us-central2-b"]}, ["b"], None),
        (LOCATION, {"unreachable": ["us-central2-b"]}, [], [LOCATION]),
        (LOCATION, {"unreachable": ["us-central1-a"]}, ["a"], None),
        (LOCATION, {"hidden": ["us-central2-b"]}, ["a"], None),
    ],
)
def test_zone_that_does_not_answer_is_named_and_one_that_hides_is_not(
    location: str, setting: dict[str, object], names: list[str], unreachable: list[str] | None
) -> None:
    """The rest is shown all the same."""
    cloud = make_cloud()
    runtime = {"accelerator_type": "v5litepod-4", "runtime_version": "v2-alpha-tpuv5-lite"}
    cloud.create_node(LOCATION, wish("a"), Tier.SPOT)
    cloud.create_node("projects/sandbox/locations/us-central1-a", wish("b", **runtime), Tier.SPOT)
    cloud.settings = cloud.settings.updated(setting)

    listed = api_of(cloud).call("ListNodes", location)

    nodes = listed.get("nodes", [])
    assert isinstance(nodes, list)
    assert names == [node["name"].rpartition("/")[2] for node in nodes]
    assert unreachable == listed.get("unreachable")
