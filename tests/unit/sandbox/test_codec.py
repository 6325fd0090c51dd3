"""What requests ask for, in the JSON of the Cloud TPU API."""

import pytest

from sandbox import codec
from sandbox.errors import ApiError, JsonObject
from sandbox.nodes import NodeUpdate
from shared.core.catalog import Tier
from tests.clouds import LOCATION, node_body, queued_body, queued_name, several_body

NAME = queued_name("q")


@pytest.mark.parametrize(
    "version, fields, tier, scheduling",
    [
        pytest.param("v2", {"spot": {}}, Tier.SPOT, {"spot": True}, id="spot"),
        pytest.param("v2", {"guaranteed": {}}, Tier.RESERVED, {"reserved": True}, id="v2 reserved"),
        pytest.param(
            "v2", {"reservationName": "r"}, Tier.RESERVED, {"reserved": True}, id="reservation"
        ),
        pytest.param("v2", {}, Tier.ON_DEMAND, {}, id="on demand"),
        pytest.param(
            "v2alpha1",
            {"guaranteed": {"reserved": True}},
            Tier.RESERVED,
            {"reserved": True},
            id="alpha reserved",
        ),
        pytest.param("v2alpha1", {"guaranteed": {}}, Tier.ON_DEMAND, {}, id="alpha guaranteed"),
        pytest.param(
            "v2alpha1", {"bestEffort": {}}, Tier.SPOT, {"preemptible": True}, id="best effort"
        ),
        pytest.param(
            "v2alpha1",
            {"bestEffort": {}, "provisioningModel": "SPOT"},
            Tier.SPOT,
            {"preemptible": True},
            id="best effort as gcloud sends it",
        ),
        pytest.param(
            "v2alpha1",
            {"spot": {}, "provisioningModel": "STANDARD"},
            Tier.SPOT,
            {"spot": True},
            id="the member counts more than the model",
        ),
        pytest.param(
            "v2alpha1", {"provisioningModel": "SPOT"}, Tier.SPOT, {"spot": True}, id="model spot"
        ),
        pytest.param(
            "v2alpha1",
            {"provisioningModel": "RESERVATION_BOUND"},
            Tier.RESERVED,
            {"reserved": True},
            id="model reservation",
        ),
    ],
)
def test_tier_is_a_member_of_the_request(
    version: str, fields: JsonObject, tier: Tier, scheduling: JsonObject
) -> None:
    """No member means on-demand; nodes show what they were asked for with."""
    request = codec.parse_queued_resource(queued_body("q", fields), NAME, version)

    assert tier == request.tier
    assert [scheduling] == [wish.scheduling for wish in request.wishes]


def test_flex_start_has_an_end_and_counts_as_preemptible() -> None:
    """Only the newest version of the API has it."""
    body = queued_body(
        "q", {"provisioningModel": "FLEX_START", "runDuration": {"maxRunDuration": "3600s"}}
    )

    request = codec.parse_queued_resource(body, NAME, "v2alpha1")

    assert (True, 3600.0, Tier.SPOT) == (request.is_flex_start, request.run_for_s, request.tier)
    with pytest.raises(ApiError, match="provisioningModel"):
        codec.parse_queued_resource(body, NAME, "v2")


@pytest.mark.parametrize(
    "version, word", [("v2", "multisliceParams"), ("v2alpha1", "multiNodeParams")]
)
def test_multislice_names_its_nodes_by_number(version: str, word: str) -> None:
    """The prefix is the request's own id unless given; each version has its own word."""
    requests = [
        codec.parse_queued_resource(several_body(word, 2, prefix), NAME, version)
        for prefix in ("", "x")
    ]

    assert [["q-0", "q-1"], ["x-0", "x-1"]] == [
        [wish.node_id for wish in request.wishes] for request in requests
    ]
    assert all(wish.is_multislice for request in requests for wish in request.wishes)
    assert (
        requests[0].body["tpu"]
        == codec.parse_queued_resource(several_body("multisliceParams", 2), NAME, "v2").body["tpu"]
    )


@pytest.mark.parametrize(
    "policy, expected",
    [
        ({"validUntilDuration": "90s"}, (None, None, 90.0, None)),
        ({"validAfterDuration": "1.5s"}, (1.5, None, None, None)),
        ({"validUntilTime": "1970-01-01T00:01:30Z"}, (None, None, None, 90.0)),
        ({"validAfterTime": "1970-01-01T00:00:30Z"}, (None, 30.0, None, None)),
        (
            {
                "validInterval": {
                    "startTime": "1970-01-01T00:00:10Z",
                    "endTime": "1970-01-01T00:00:20Z",
                }
            },
            (None, 10.0, None, 20.0),
        ),
    ],
)
def test_window_may_be_written_in_five_ways(
    policy: JsonObject, expected: tuple[float | None, ...]
) -> None:
    """Seconds from the call, times, or both ends at once."""
    request = codec.parse_queued_resource(queued_body("q", {"queueingPolicy": policy}), NAME)

    assert expected == (
        request.valid_after_s,
        request.valid_after,
        request.valid_for_s,
        request.valid_until,
    )


@pytest.mark.parametrize(
    "bad, field, words",
    [
        pytest.param(None, "", "Expected an object", id="no body"),
        pytest.param({"colour": "red"}, "", "colour", id="unknown field"),
        pytest.param(
            queued_body("q", node={**node_body(), "colour": 1}),
            "tpu.nodeSpec[0].node",
            "colour",
            id="unknown field of a node",
        ),
        pytest.param({"tpu": {"nodeSpec": "x"}}, "tpu", "nodeSpec", id="wrong type"),
        pytest.param(
            several_body("multisliceParams", 1),
            "tpu.node_spec[0].multislice_params.node_count",
            "greater than 1",
            id="count",
        ),
        pytest.param(
            {"tpu": {"nodeSpec": [{"parent": LOCATION, "node": node_body()}]}},
            "tpu.node_spec[0].node_id",
            "Missing required field",
            id="no name",
        ),
        pytest.param(
            {"tpu": {"nodeSpec": [{"parent": "p", "nodeId": "q", "node": node_body()}]}},
            "tpu.node_spec[0].parent",
            "must be 'projects/sandbox/locations/us-central2-b'",
            id="another parent",
        ),
        pytest.param(
            queued_body("q", node=node_body(schedulingConfig={})),
            "tpu.node_spec[0].node.scheduling_config",
            "scheduling_config must not be set",
            id="scheduling config",
        ),
        pytest.param(
            queued_body("q", {"spot": {}, "guaranteed": {}}), "", 'multiple "tier"', id="two tiers"
        ),
        pytest.param(
            several_body("multiNodeParams", 2),
            "tpu.nodeSpec[0]",
            "multiNodeParams",
            id="word of another version",
        ),
        pytest.param(
            queued_body("q", {"queueingPolicy": {"validUntilDuration": "4"}}),
            "queueingPolicy.validUntilDuration",
            "must end with letter",
            id="bad duration",
        ),
    ],
)
def test_bad_body_is_an_invalid_argument(bad: object, field: str, words: str) -> None:
    """The reason names the field, and so does Google's detail."""
    with pytest.raises(ApiError, match=words) as error:
        codec.parse_queued_resource(bad, NAME)

    assert "INVALID_ARGUMENT" == error.value.status
    if field:
        assert field in str(error.value.details)


@pytest.mark.parametrize(
    "scheduling, version, expected",
    [
        ({"spot": True}, "v2", Tier.SPOT),
        ({"preemptible": True}, "v2", Tier.SPOT),
        ({"reserved": True}, "v2", Tier.RESERVED),
        ({"preemptible": False, "reserved": False, "spot": False}, "v2", Tier.ON_DEMAND),
        ({"provisioningModel": "SPOT"}, "v2alpha1", Tier.SPOT),
        ({"provisioningModel": "STANDARD", "spot": False}, "v2alpha1", Tier.ON_DEMAND),
    ],
)
def test_node_by_itself_has_its_tier_in_its_scheduling(
    scheduling: JsonObject, version: str, expected: Tier
) -> None:
    """As gcloud writes it, with all that is false."""
    _, tier = codec.parse_node(node_body(schedulingConfig=scheduling), "n", version)

    assert expected == tier


@pytest.mark.parametrize(
    "fields, expected",
    [({}, True), ({"networkConfig": {}}, False), ({"networkConfig": {"network": "n"}}, False)],
)
def test_external_addresses_are_off_where_the_network_is_described_without_them(
    fields: JsonObject, *, expected: bool
) -> None:
    """A false that was left out is a false."""
    wish, _ = codec.parse_node(node_body(**fields), "n")

    assert expected == wish.external_ips


def test_update_takes_masked_fields_only_also_empty_ones() -> None:
    """That is how a map is emptied."""
    update = codec.parse_update({"labels": {"a": "b"}, "description": "x"}, "labels,metadata")

    assert NodeUpdate(labels={"a": "b"}, metadata={}) == update


@pytest.mark.parametrize(
    "mask", ["network_config.enable_external_ips", "networkConfig.enableExternalIps"]
)
def test_mask_may_be_spelled_in_both_ways(mask: str) -> None:
    """The library sends one, gcloud the other."""
    update = codec.parse_update({"networkConfig": {"enableExternalIps": True}}, mask)

    assert NodeUpdate(external_ips=True) == update


@pytest.mark.parametrize("mask", ["", "state", "metadata,health", "network_config.network"])
def test_update_of_other_fields_is_refused(mask: str) -> None:
    """Only what Google lets one change."""
    with pytest.raises(ApiError, match="Invalid update_mask"):
        codec.parse_update({}, mask)
