"""Guest attributes, as they are read through the API."""

import pytest

from sandbox.cloud import Cloud
from sandbox.errors import ApiError, JsonObject
from tests.clouds import BOOTED_AT, LOCATION, api_of, ask, make_cloud

TOLD = {"hostkeys/ssh-rsa": "AAA", "tpuctl/step": "7", "tpuctl/beat": "1"}


def telling_cloud(*, enabled: bool = True) -> Cloud:
    """Make a cloud whose second host has told something."""
    cloud = make_cloud()
    fields = {"metadata": {"enable-guest-attributes": "TRUE"}} if enabled else {}
    ask(cloud, "a", fields=fields)
    cloud.advance(BOOTED_AT)
    cloud.change_host("a-w-1", guest_attributes=TOLD)
    return cloud


def entry(key: str) -> JsonObject:
    """Show what was told under a key."""
    namespace, name = key.split("/")
    return {"namespace": namespace, "key": name, "value": TOLD[key]}


@pytest.mark.parametrize(
    "path, keys",
    [
        ("", sorted(TOLD)),
        ("tpuctl/", ["tpuctl/beat", "tpuctl/step"]),
        ("tpuctl/step", ["tpuctl/step"]),
        ("/", sorted(TOLD)),
        ("/tpuctl/", ["tpuctl/beat", "tpuctl/step"]),
        ("/tpuctl/step", ["tpuctl/step"]),
        ("tpuctl", []),
        ("other/", []),
    ],
)
def test_path_chooses_all_a_namespace_or_a_key(path: str, keys: list[str]) -> None:
    """One answer a host, in their order."""
    body = {"queryPath": path, "workerIds": [""]}

    answer = api_of(telling_cloud()).call("GetGuestAttributes", LOCATION, "a", {}, body)

    assert [
        {"queryPath": path, "queryValue": {"items": []}},
        {"queryPath": path, "queryValue": {"items": [entry(key) for key in keys]}},
    ] == answer["guestAttributes"]


def test_one_worker_can_be_asked() -> None:
    """By its number."""
    api = api_of(telling_cloud())

    answer = api.call("GetGuestAttributes", LOCATION, "a", {}, {"workerIds": ["0"]})

    assert [{"queryPath": "", "queryValue": {"items": []}}] == answer["guestAttributes"]
    with pytest.raises(ApiError, match="Invalid worker id '2'"):
        api.call("GetGuestAttributes", LOCATION, "a", {}, {"workerIds": ["2"]})


def test_path_is_not_found_where_guest_attributes_are_off() -> None:
    """As on Compute Engine; asking for everything gives nothing."""
    api = api_of(telling_cloud(enabled=False))

    with pytest.raises(ApiError, match="'hostkeys/' of type 'Guest Attribute' was not found"):
        api.call("GetGuestAttributes", LOCATION, "a", {}, {"queryPath": "hostkeys/"})


def test_node_that_is_not_ready_tells_nothing() -> None:
    """There is nobody to ask."""
    cloud = make_cloud()
    ask(cloud, "a")
    cloud.advance(30)

    with pytest.raises(ApiError, match="not available while in state CREATING"):
        api_of(cloud).call("GetGuestAttributes", LOCATION, "a", {}, {})
