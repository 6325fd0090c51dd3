"""The forms in which Google's metadata server shows a directory."""

import json

import pytest

from sandbox.addresses import FIRST_NETWORK, address
from sandbox.metadata import Attributes, Tree, find, show, slices_of, tree_of
from sandbox.queued_request import QueuedRequest
from shared.core.catalog import Tier
from tests.clouds import BOOTED_AT, LOCATION, active_cloud, make_cloud, queued_name, wish

TREE: Tree = {
    "instance": {
        "attributes": Attributes({"my-key": "a\nb", "0": "zero"}),
        "maintenance-event": "NONE",
        "network-interfaces": {"0": {"ip": "127.0.0.1"}},
    }
}


@pytest.mark.parametrize(
    "path, expected",
    [
        pytest.param("instance/maintenance-event", "NONE", id="value"),
        pytest.param("/instance/attributes/my-key", "a\nb", id="leading slash"),
        pytest.param("instance/nothing", None, id="missing"),
        pytest.param("instance/maintenance-event/deeper", None, id="below a value"),
    ],
)
def test_path_leads_to_a_value_or_nowhere(path: str, expected: str | None) -> None:
    """Slashes around it do not matter."""
    assert expected == find(TREE, path)


def test_json_has_camel_case_lists_and_users_keys_as_they_are() -> None:
    """At whatever depth it is asked."""
    expected = {
        "attributes": {"my-key": "a\nb", "0": "zero"},
        "maintenanceEvent": "NONE",
        "networkInterfaces": [{"ip": "127.0.0.1"}],
    }

    assert {"instance": expected} == json.loads(show(TREE, recursive=True, alt="").text)
    attributes = find(TREE, "instance/attributes")
    assert attributes is not None
    assert expected["attributes"] == json.loads(show(attributes, recursive=True, alt="").text)


def test_text_is_a_listing_or_all_paths_with_their_values() -> None:
    """Directories end with a slash."""
    instance = find(TREE, "instance")
    assert instance is not None

    listing = show(instance, recursive=False, alt="").text
    flat = show(instance, recursive=True, alt="text").text

    assert "attributes/\nmaintenance-event\nnetwork-interfaces/\n" == listing
    assert "network-interfaces/0/ip 127.0.0.1\n" in flat


def test_etag_changes_with_the_content_only() -> None:
    """The form in which it is asked for does not matter."""
    one, other = ({"a": Attributes({"k": value})} for value in ("1", "2"))

    tags = [
        {show(tree, recursive=True, alt=alt).etag for alt in ("", "text")} for tree in (one, other)
    ]

    assert [1, 1] == [len(forms) for forms in tags]
    assert tags[0] != tags[1]


def environment(node: str, **fields: object) -> dict[str, str]:
    """Return the words of a host's ``tpu-env``, read as JAX reads them."""
    cloud = make_cloud()
    wishes = tuple(wish(f"m-{index}", **fields) for index in range(2))
    request = QueuedRequest(wishes, Tier.SPOT, body={})
    cloud.create_queued_resource(queued_name("m"), request)
    cloud.advance(BOOTED_AT)
    found = cloud.node(f"{LOCATION}/nodes/{node}")
    tree = tree_of(cloud.host(f"{node}-w-1"), found, "", slices_of(cloud, found))
    text = find(tree, "instance/attributes/tpu-env")
    assert isinstance(text, str)
    rows = [line.split(": ") for line in text.splitlines()]
    return {key: value.strip("'") for key, value in rows}


@pytest.mark.parametrize("index", [0, 1])
def test_slices_that_were_asked_for_as_one_find_each_other(index: int) -> None:
    """All know the first host of the first slice, how many they are, and which one each is."""
    found = environment(f"m-{index}", is_multislice=True)

    assert {
        "MEGASCALE_COORDINATOR_ADDRESS": f"{address(FIRST_NETWORK, 1)}:8080",
        "MEGASCALE_NUM_SLICES": "2",
        "MEGASCALE_SLICE_ID": str(index),
    } == {key: value for key, value in found.items() if key.startswith("MEGASCALE")}


def test_slice_by_itself_knows_its_shape_and_no_others() -> None:
    """The worker, the type and how its chips are arranged."""
    assert {
        "ACCELERATOR_TYPE": "v4-16",
        "CONSUMER_PROJECT_ID": "sandbox",
        "NODE_ID": "m-0",
        "RUNTIME_VERSION": "tpu-ubuntu2204-base",
        "TOPOLOGY": "2x2x2",
        "TYPE": "V4",
        "WORKER_ID": "1",
        "ZONE": "us-central2-b",
    } == environment("m-0")


def test_every_host_can_read_what_the_project_says() -> None:
    """Under its own names, beside what is said of the host."""
    cloud = active_cloud()
    host = cloud.host("a-w-0")
    tree = tree_of(host, cloud.node(host.node), "", shared={"team-colour": "blue"})

    found = find(tree, "project/attributes")
    assert found is not None
    assert {"team-colour": "blue"} == json.loads(show(found, recursive=True, alt="json").text)
