"""The forms in which Google's metadata server shows a directory."""

import json

import pytest

from sandbox.metadata import Attributes, Tree, find, show

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
