"""Google's messages, with the fields that its library does not know yet."""

import pytest

from sandbox import schema
from sandbox.errors import ApiError, JsonObject


@pytest.mark.parametrize(
    "version, kind, body",
    [
        ("v2alpha1", "QueuedResource", {"provisioningModel": "FLEX_START"}),
        ("v2alpha1", "QueuedResource", {"runDuration": {"maxRunDuration": "60s"}}),
        ("v2alpha1", "Node", {"schedulingConfig": {"provisioningModel": "SPOT"}}),
        ("v2alpha1", "Node", {"schedulingConfig": {"reservationName": "r"}}),
        ("v2alpha1", "Node", {"autocheckpointEnabled": True}),
        ("v2", "Node", {"upcomingMaintenance": {"type": "SCHEDULED", "canReschedule": True}}),
        ("v1", "Node", {"ipAddress": "127.0.0.1", "tensorflowVersion": "2.12.1"}),
    ],
)
def test_fields_that_gcloud_knows_are_known(version: str, kind: str, body: JsonObject) -> None:
    """Also where the library does not have them; they come back as they went in."""
    assert body == schema.as_json(schema.parse(body, version, kind))


def test_enums_are_taken_as_names_and_as_numbers_and_shown_as_either() -> None:
    """64-bit numbers are strings in both."""
    for state in ("READY", 2):
        body: JsonObject = {"state": state, "id": 5}
        assert {"state": "READY", "id": "5"} == schema.shown(body, "v2", "Node")
        assert {"state": 2, "id": "5"} == schema.shown(body, "v2", "Node", numbers=True)


def test_what_a_version_does_not_know_is_refused_in_requests_and_left_out_of_answers() -> None:
    """Nobody is told of fields that he cannot read."""
    body: JsonObject = {"bestEffort": {}, "name": "q"}

    assert {"name": "q"} == schema.shown(body, "v2", "QueuedResource")
    with pytest.raises(ApiError, match='Unknown name "bestEffort": Cannot find field') as error:
        schema.parse(body, "v2", "QueuedResource")

    assert "google.rpc.BadRequest" in str(error.value.details)


@pytest.mark.parametrize(
    "text, snake, camel",
    [
        ("nodeId", "node_id", "nodeId"),
        ("node_id", "node_id", "nodeId"),
        ("networkConfig.enable_ips", "network_config.enable_ips", "networkConfig.enableIps"),
        ("state", "state", "state"),
    ],
)
def test_names_are_spelled_in_both_ways(text: str, snake: str, camel: str) -> None:
    """Whichever way they came."""
    assert (snake, camel) == (schema.snake(text), schema.camel(text))
