"""Operations: read, waited for, cancelled, forgotten."""

import pytest

from sandbox.errors import ApiError
from tests.clouds import LOCATION, active_cloud, api_of, ask, make_cloud


def test_wait_returns_an_operation_that_is_not_done_when_patience_ends() -> None:
    """Whoever waits has to look."""
    cloud = make_cloud()
    item = ask(cloud, "a").rpartition("/")[2]

    shown = api_of(cloud).call("WaitOperation", LOCATION, item, {}, {"timeout": "0.01s"})

    assert False is shown["done"]
    with pytest.raises(ApiError, match="Invalid value at 'timeout'"):
        api_of(cloud).call("WaitOperation", LOCATION, item, {}, {"timeout": "soon"})


def test_cancelled_create_leaves_nothing_and_its_name_is_free() -> None:
    """A later request of that name is not hit by the end of the first."""
    cloud = make_cloud()
    api = api_of(cloud)
    first = ask(cloud, "a").rpartition("/")[2]

    assert {} == api.call("CancelOperation", LOCATION, first, {}, {})
    second = ask(cloud, "a").rpartition("/")[2]
    cloud.advance(200)

    ended, done = (api.call("GetOperation", LOCATION, item) for item in (first, second))
    assert isinstance(ended["error"], dict)
    assert isinstance(ended["metadata"], dict)
    assert (1, True) == (ended["error"]["code"], ended["metadata"]["cancelRequested"])
    assert "response" in done
    assert [f"{LOCATION}/nodes/a"] == list(cloud.nodes)


def test_cancel_of_anything_else_is_noted_and_changes_nothing() -> None:
    """The service may succeed all the same."""
    cloud = active_cloud()
    api = api_of(cloud)
    operation = cloud.delete_node(f"{LOCATION}/nodes/a").name.rpartition("/")[2]

    api.call("CancelOperation", LOCATION, operation, {}, {})
    cloud.advance(1_000)

    shown = api.call("GetOperation", LOCATION, operation)
    assert isinstance(shown["metadata"], dict)
    assert True is shown["metadata"]["cancelRequested"]
    assert "response" in shown


def test_deleted_operation_is_gone_and_what_it_started_goes_on() -> None:
    """It is only forgotten."""
    cloud = make_cloud()
    api = api_of(cloud)
    item = ask(cloud, "a").rpartition("/")[2]

    assert {} == api.call("DeleteOperation", LOCATION, item)
    cloud.advance(200)

    with pytest.raises(ApiError):
        api.call("GetOperation", LOCATION, item)
    assert {} == api.call("ListOperations", LOCATION)
    assert f"{LOCATION}/nodes/a" in cloud.nodes
