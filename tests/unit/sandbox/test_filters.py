"""Google's filter language, and what sorts a list."""

import pytest

from sandbox.errors import ApiError, JsonObject
from sandbox.filters import filter_of, ordered
from tests.clouds import LOCATION, api_of, make_cloud

SHOWN: JsonObject = {
    "type": "v4-16",
    "done": True,
    "tags": ["red"],
    "labels": {"team": "blue"},
    "diskSizeGb": "100",
    "createTime": "2026-11-21T08:00:00.5Z",
    "text": 'with "quotes" in',
}
ROWS: dict[str, JsonObject] = {
    "a": {"zone": "east", "size": {"chips": "16"}},
    "b": {"zone": "west", "size": {"chips": "4"}, "disk": "100"},
    "c": {"zone": "east", "size": {"chips": "4"}},
}


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", True),
        ("type=v4-16", True),
        ('type = "v4-16" AND done=true', True),
        ("type=v4-16 done=false", False),
        ("NOT type=v4-16", False),
        ("-type=v4-8", True),
        ("type!=v4-8", True),
        ("type:v4", True),
        ("tags:red", True),
        ("labels.team=blue", True),
        ("labels.team:*", True),
        ("labels.other:*", False),
        ("labels.other=x", False),
        ("labels.other!=x", True),
        ("type>v4-08 AND type<=v4-16", True),
        ("diskSizeGb>99", True),
        ("diskSizeGb<20.5", False),
        ('createTime>"2026-11-21T08:00:00Z"', True),
        ('createTime<="2026-11-21T08:00:00.25+00:00"', False),
        ('createTime>="2026-11-21"', True),
        ("diskSizeGb=0100", False),
        ('text="with \\"quotes\\" in"', True),
        ("type=v4-8 OR type=v4-16", True),
        ("type=v4-8 OR type=v4-32", False),
        ("NOT (type=v4-8 OR type=v4-16)", False),
        ("(type=v4-16 done=true) OR type=x", True),
        (" ".join(["(type=v4-16)"] * 100), True),
        ("(" * 50 + "type=v4-16" + ")" * 50, True),
    ],
)
def test_filter_compares_fields(text: str, *, expected: bool) -> None:
    """All that is said has to hold, or one of what OR stands between."""
    assert expected == filter_of(text)(SHOWN)


@pytest.mark.parametrize(
    "text, expected",
    [
        pytest.param("done=false AND type=v4-16 OR type=v4-8", False, id="on its right"),
        pytest.param("type=v4-16 OR type=v4-8 AND done=false", False, id="on its left"),
        pytest.param("(type=v4-16) OR (type=v4-8 AND done=false)", True, id="in parentheses"),
    ],
)
def test_or_binds_tighter_than_and(text: str, *, expected: bool) -> None:
    """As in Google's language, and unlike in most others."""
    assert expected == filter_of(text)(SHOWN)


@pytest.mark.parametrize(
    "text",
    [
        "type",
        "= x",
        "type=",
        'type="open',
        "(a=b",
        "a=b)",
        "()",
        "a=b OR",
        "OR a=b",
        "NOT",
        "a=b AND",
        "(" * 5000,
        "-" * 5000,
    ],
)
def test_filter_that_is_not_understood_is_refused(text: str) -> None:
    """Silence would show too much."""
    with pytest.raises(ApiError, match="Invalid list filter"):
        filter_of(text)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "abc"),
        ("zone", "acb"),
        ("zone desc", "bac"),
        ("size.chips, zone", "cba"),
        ("size.chips desc,zone desc", "abc"),
        ("disk", "acb"),
        ("nothing", "abc"),
    ],
)
def test_fields_sort_a_list(text: str, expected: str) -> None:
    """The first one first; what is alike stays as it was."""
    assert list(expected) == ordered(text, ROWS, ROWS.__getitem__)


def test_what_names_no_fields_is_refused() -> None:
    """As everything that was not understood."""
    with pytest.raises(ApiError, match="Invalid order_by: 'zone up'"):
        ordered("zone up", ROWS, ROWS.__getitem__)


def test_pages_of_a_sorted_list_hold_everything_once() -> None:
    """The next one begins where the last one ended, in that order."""
    api = api_of(make_cloud())
    asked = {"orderBy": "type desc", "pageSize": "7"}
    seen: list[str] = []
    token = ""
    while not seen or token:
        page = api.call("ListAcceleratorTypes", LOCATION, "", {**asked, "pageToken": token})
        types = page["acceleratorTypes"]
        assert isinstance(types, list)
        seen += [each["type"] for each in types]
        token = str(page.get("nextPageToken", ""))

    assert sorted(seen, reverse=True) == seen
    assert len(seen) == len(set(seen)) > 7
