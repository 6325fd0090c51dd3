"""The query of a call: partial answers."""

import pytest

from sandbox.errors import ApiError, JsonObject
from sandbox.parameters import normal, selection_of

ANSWER: JsonObject = {
    "nodes": [{"name": "a", "state": "READY", "ends": [{"ip": "1", "port": 2}]}],
    "nextPageToken": "t",
}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", ANSWER),
        ("*", ANSWER),
        ("nextPageToken", {"nextPageToken": "t"}),
        ("nodes/name", {"nodes": [{"name": "a"}]}),
        ("nodes(name,state)", {"nodes": [{"name": "a", "state": "READY"}]}),
        ("nodes/ends/ip,nextPageToken", {"nodes": [{"ends": [{"ip": "1"}]}], "nextPageToken": "t"}),
        ("nodes(name, ends(port))", {"nodes": [{"name": "a", "ends": [{"port": 2}]}]}),
        ("nodes.ends.ip,nextPageToken", {"nodes": [{"ends": [{"ip": "1"}]}], "nextPageToken": "t"}),
        ("nodes/*", {"nodes": ANSWER["nodes"]}),
        ("nodes/nothing", {"nodes": [{}]}),
        ("nothing", {}),
    ],
)
def test_partial_answer_holds_what_was_asked_for(text: str, expected: JsonObject) -> None:
    """At every level."""
    assert expected == selection_of(text)(ANSWER)


@pytest.mark.parametrize("text", [",", "a,", "a(", "a(b", "a)", "a//b", "a b;", "/a", "a()"])
def test_bad_selection_is_refused(text: str) -> None:
    """In Google's words."""
    with pytest.raises(ApiError, match="Invalid field selection"):
        selection_of(text)


def test_parameters_may_be_spelled_in_both_ways() -> None:
    """What every API knows is left as it is."""
    query = {"update_mask": "a", "pageSize": "1", "access_token": "t", "$alt": "json"}

    assert {"updateMask": "a", "pageSize": "1", "access_token": "t", "$alt": "json"} == normal(
        query
    )
