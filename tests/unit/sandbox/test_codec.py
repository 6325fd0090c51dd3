"""Requests and answers in the JSON of the Cloud TPU API."""

import pytest

from sandbox import codec
from sandbox.errors import ApiError
from sandbox.nodes import NodeUpdate
from sandbox.resources import QueuedResource, QueuedState
from shared.core.catalog import Tier

NAME = "projects/sandbox/locations/us-central2-b/queuedResources/q"
NODE = {"acceleratorType": "v4-16", "runtimeVersion": "tpu-ubuntu2204-base"}


def body(node_spec: dict[str, object], **fields: object) -> dict[str, object]:
    """Make the body of a create call."""
    return {"tpu": {"nodeSpec": [{"parent": "p", "node": NODE, **node_spec}]}, **fields}


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"spot": {}}, Tier.SPOT),
        ({"guaranteed": {}}, Tier.RESERVED),
        ({"reservationName": "r"}, Tier.RESERVED),
        ({}, Tier.ON_DEMAND),
    ],
)
def test_tier_is_a_member_of_the_request(fields: dict[str, object], expected: Tier) -> None:
    """No member means on-demand."""
    request = codec.parse_queued_resource(body({"nodeId": "q"}, **fields), NAME)

    assert expected == request.tier


def test_multislice_names_its_nodes_by_number() -> None:
    """The prefix is the request's own id unless given."""
    params: list[dict[str, object]] = [{"nodeCount": 2}, {"nodeCount": 2, "nodeIdPrefix": "x"}]

    requests = [
        codec.parse_queued_resource(body({"multisliceParams": param}), NAME) for param in params
    ]

    assert [["q-0", "q-1"], ["x-0", "x-1"]] == [
        [wish.node_id for wish in request.wishes] for request in requests
    ]


def test_time_to_wait_may_be_a_duration() -> None:
    """Google writes them with an s."""
    request = codec.parse_queued_resource(
        body({"nodeId": "q"}, queueingPolicy={"validUntilDuration": "90s"}), NAME
    )

    assert 90 == request.valid_for_s


@pytest.mark.parametrize(
    "bad, words",
    [
        pytest.param(None, "Expected an object", id="no body"),
        pytest.param({"colour": "red"}, "colour", id="unknown field"),
        pytest.param({"tpu": {"nodeSpec": "x"}}, "nodeSpec", id="wrong type"),
        pytest.param(body({"multisliceParams": {"nodeCount": 1}}), "greater than 1", id="count"),
        pytest.param(
            body({"nodeId": "q", "node": {**NODE, "schedulingConfig": {}}}),
            "scheduling_config",
            id="scheduling config",
        ),
    ],
)
def test_bad_body_is_an_invalid_argument(bad: object, words: str) -> None:
    """The reason names the field."""
    with pytest.raises(ApiError, match=words) as error:
        codec.parse_queued_resource(bad, NAME)

    assert "INVALID_ARGUMENT" == error.value.status


def test_update_takes_masked_fields_only_also_empty_ones() -> None:
    """That is how a map is emptied."""
    update = codec.parse_update({"labels": {"a": "b"}, "description": "x"}, "labels,metadata")

    assert NodeUpdate(labels={"a": "b"}, metadata={}) == update


@pytest.mark.parametrize("mask", ["", "state", "metadata,health"])
def test_update_of_other_fields_is_refused(mask: str) -> None:
    """Only what Google lets one change."""
    with pytest.raises(ApiError, match="Invalid update_mask"):
        codec.parse_update({}, mask)


@pytest.mark.parametrize("state", list(QueuedState))
def test_every_state_fits_googles_message(state: QueuedState) -> None:
    """With enums as numbers too, and nothing lost on the way."""
    queued = QueuedResource(
        NAME, (), {"spot": {}}, created_at=1.5, state=state, error={"code": 8, "message": "no"}
    )

    numbered = codec.with_numbers(codec.render_queued_resource(queued), "QueuedResource")

    assert isinstance(numbered["state"], dict)
    assert isinstance(numbered["state"]["state"], int)
    assert "1970-01-01T00:00:01.500Z" == numbered["createTime"]
