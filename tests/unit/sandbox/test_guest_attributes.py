"""Guest attributes: what a host may write, and how it reads it."""

import pytest

from sandbox import guest_attributes
from sandbox.guest_attributes import Asked, RefusedError
from sandbox.metadata import Attributes, Tree

ON: Tree = {
    "instance": {"attributes": Attributes({"enable-guest-attributes": "TRUE"})},
    "guest-attributes": {"ns": {"key": "value"}},
}


@pytest.mark.parametrize(
    "asked, expected",
    [
        pytest.param(Asked("PUT", "ns/key", b"v"), ("ns/key", "v"), id="write"),
        pytest.param(Asked("PUT", "ns/key", b""), ("ns/key", ""), id="write nothing"),
        pytest.param(Asked("DELETE", "ns/key", b""), ("ns/key", None), id="delete"),
        pytest.param(Asked("GET", "ns/key", b""), None, id="read"),
    ],
)
def test_change_is_told_by_method(asked: Asked, expected: tuple[str, str | None] | None) -> None:
    """The name and the new value; nothing for a read."""
    assert expected == guest_attributes.judge(ON, asked)


@pytest.mark.parametrize(
    "asked, code",
    [
        pytest.param(Asked("PUT", "key", b"v"), 400, id="no namespace"),
        pytest.param(Asked("PUT", "a/b/c", b"v"), 400, id="too deep"),
        pytest.param(Asked("PUT", f"a/{'b' * 129}", b"v"), 400, id="long name"),
        pytest.param(Asked("PUT", "a/b", b"\xff"), 400, id="no text"),
        pytest.param(Asked("PUT", "a/b", b"x" * 32769), 413, id="too large"),
        pytest.param(Asked("POST", "a/b", b"x"), 405, id="method"),
    ],
)
def test_bad_requests_are_refused(asked: Asked, code: int) -> None:
    """As Compute Engine does."""
    with pytest.raises(RefusedError) as error:
        guest_attributes.judge(ON, asked)

    assert code == error.value.code


@pytest.mark.parametrize(
    "tree", [{}, {"instance": {"attributes": Attributes()}}], ids=["none", "off"]
)
def test_nothing_works_unless_it_is_switched_on(tree: Tree) -> None:
    """Not even reading."""
    with pytest.raises(RefusedError, match="disabled") as error:
        guest_attributes.judge(tree, Asked("GET", "", b""))

    assert 403 == error.value.code


@pytest.mark.parametrize(
    "path, expected",
    [
        pytest.param("", {"ns": {"key": "value"}}, id="all"),
        pytest.param("ns/", {"key": "value"}, id="namespace"),
        pytest.param("ns/key", "value", id="value"),
        pytest.param("ns/key/x", None, id="below a value"),
        pytest.param("other", None, id="nothing"),
    ],
)
def test_paths_lead_to_namespaces_and_values(path: str, expected: object) -> None:
    """Slash by slash."""
    assert expected == guest_attributes.find(ON, path)


def test_names_turn_to_directories() -> None:
    """By their first slash."""
    attributes = {"a/x": "1", "a/y": "2", "b/x": "3"}

    assert {"a": {"x": "1", "y": "2"}, "b": {"x": "3"}} == guest_attributes.tree_of(attributes)
