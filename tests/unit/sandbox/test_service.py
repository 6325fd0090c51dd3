"""Every method of the API by its name: who may call it, how it breaks, what is written down."""

import json
from pathlib import Path

import pytest

from sandbox.errors import ApiError, JsonObject
from sandbox.methods import METHODS
from sandbox.service import Caller
from sandbox.settings import CallFailure
from sandbox.web import ConnectionDroppedError
from tests.clouds import (
    BOOTED_AT,
    LOCATION,
    active_cloud,
    api_of,
    make_cloud,
    node_body,
    queued_body,
    queued_name,
)

RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "gcloud_requests.jsonl")
    .read_text("utf-8")
    .splitlines()
]
CREATES = {
    "nodes": ("CreateNode", "nodeId"),
    "queuedResources": ("CreateQueuedResource", "queuedResourceId"),
}
# Stand-ins of the recording for values that the service checks.
_TRUE_RUNTIMES = {"v4": "tpu-ubuntu2204-base", "v6e": "v2-alpha-tpuv6e"}


@pytest.mark.parametrize(
    "row",
    [row for row in RECORDED if row["method"] == "POST" and row["path"].split("/")[-1] in CREATES],
    ids=lambda row: f"{row['command']} {row['query']}",
)
def test_what_gcloud_sends_is_accepted(row: dict[str, object]) -> None:
    """Each create as it was recorded, in a zone that has the type."""
    body = json.loads(json.dumps(row["body"]))
    generation = "v6e" if "v6e" in str(body) else "v4"
    zone = {"v4": "us-central2-b", "v6e": "us-east5-b"}[generation]
    body = json.loads(json.dumps(body).replace("us-central2-b", zone))
    for node in [spec["node"] for spec in body.get("tpu", {}).get("nodeSpec", [])] or [body]:
        node["runtimeVersion"] = _TRUE_RUNTIMES[generation]
    _, version, _, _, _, _, collection = str(row["path"]).split("/")
    method, key = CREATES[collection]
    cloud = make_cloud()
    query = dict(part.split("=") for part in str(row["query"]).split("&"))

    location = f"projects/sandbox/locations/{zone}"
    made = api_of(cloud).call(method, location, "", query, body, version)
    cloud.advance(300)

    name = f"{location}/{collection}/{query[key]}"
    assert made["name"] in cloud.operations
    assert (collection == "nodes", collection == "queuedResources") == (
        name in cloud.nodes,
        name in cloud.queued_resources,
    )
    assert {"READY"} == {node.state for node in cloud.nodes.values()}


@pytest.mark.parametrize(
    "method, version",
    [
        ("CreateNode", "v1"),
        ("SimulateMaintenanceEvent", "v2"),
        ("ListReservations", "v2"),
        ("ListTensorFlowVersions", "v2"),
        ("NoSuchMethod", "v2"),
    ],
)
def test_method_that_a_version_does_not_have_is_unimplemented(method: str, version: str) -> None:
    """501, as from a gRPC server that does not know it."""
    with pytest.raises(
        ApiError, match=f"Method {method} does not exist in version {version}"
    ) as error:
        api_of(make_cloud()).call(method, LOCATION, "x", version=version)

    assert (501, 12) == (error.value.http_code, error.value.rpc_code)


@pytest.mark.parametrize("method", [name for name, row in METHODS.items() if "<item>" in row.path])
def test_what_is_not_there_is_not_found(method: str) -> None:
    """By every method that names something."""
    version = min(METHODS[method].versions)
    params = {"updateMask": "labels"} if method == "UpdateNode" else {}

    with pytest.raises(ApiError) as error:
        api_of(make_cloud()).call(method, LOCATION, "nobody", params, {}, version)

    assert (404, 5, "NOT_FOUND") == (
        error.value.http_code,
        error.value.rpc_code,
        error.value.status,
    )


@pytest.mark.parametrize("method", sorted(METHODS.keys() - {"ListLocations", "WaitOperation"}))
def test_place_that_may_not_be_used_is_refused(method: str) -> None:
    """403 by every method, whatever else is wrong."""
    row = METHODS[method]
    location = "projects/sandbox/locations/mars-a"
    params = {"queuedResourceId": "q", "nodeId": "q", "updateMask": "labels"}
    known = {key: params[key] for key in row.parameters if key in params}
    bodies: dict[str, JsonObject] = {
        "node": node_body(),
        "queued_resource": json.loads(
            json.dumps(queued_body("q")).replace("us-central2-b", "mars-a")
        ),
    }

    with pytest.raises(ApiError, match="mars-a is not found or access is unauthorized") as error:
        api_of(make_cloud()).call(
            method, location, "x", known, bodies.get(row.body, {}), min(row.versions)
        )

    assert 403 == error.value.http_code


def test_unknown_parameter_is_refused_with_googles_words() -> None:
    """A misspelt one would silently do nothing; system parameters are always known."""
    api = api_of(make_cloud())
    api.call("ListNodes", LOCATION, "", {"alt": "json", "prettyPrint": "false", "pageSize": "1"})

    with pytest.raises(ApiError, match="Cannot bind query parameter") as error:
        api.call("ListNodes", LOCATION, "", {"filter": "x=1"})

    assert "google.rpc.BadRequest" in str(error.value.details)


@pytest.mark.parametrize("params", [{}, {"nodeId": ""}])
def test_missing_id_is_refused(params: dict[str, str]) -> None:
    """The service makes no names up."""
    with pytest.raises(ApiError, match="Missing required parameter 'nodeId'"):
        api_of(make_cloud()).call("CreateNode", LOCATION, "", params, node_body())


@pytest.mark.parametrize("when, exists", [("before", False), ("after", True)])
def test_call_breaks_before_or_after_its_effect(when: str, *, exists: bool) -> None:
    """The caller sees the same; a spurious 409 after a create that worked is one of these."""
    failure = CallFailure.model_validate(
        {"method": "CreateQueuedResource", "code": 409, "when": when}
    )
    cloud = make_cloud(failures=[failure])

    with pytest.raises(ApiError) as error:
        api_of(cloud).call(
            "CreateQueuedResource", LOCATION, "", {"queuedResourceId": "q"}, queued_body("q")
        )
    cloud.advance(10)

    assert "ALREADY_EXISTS" == error.value.status
    assert exists == (queued_name("q") in cloud.queued_resources)


@pytest.mark.parametrize(
    "code, message, words",
    [
        (429, "", "Quota exceeded for quota metric 'Create requests'"),
        (403, "", "The caller does not have permission"),
        (500, "", "Internal error encountered"),
        (503, "", "The service is currently unavailable"),
        (403, "go away", "go away"),
    ],
)
def test_ordered_error_has_the_words_that_were_ordered_or_googles(
    code: int, message: str, words: str
) -> None:
    """And for too many requests Google's detail."""
    said = {"message": message} if message else {}
    cloud = make_cloud(failures=[{"method": "ListNodes", "code": code, **said}])

    with pytest.raises(ApiError, match=words) as error:
        api_of(cloud).call("ListNodes", LOCATION)

    assert code == error.value.http_code
    assert (code == 429) == ("RATE_LIMIT_EXCEEDED" in str(error.value.details))


def test_lost_reply_reaches_nobody_and_has_its_effect() -> None:
    """The connection breaks when all is done."""
    failure = CallFailure(method="CreateNode", when="dropped")
    cloud = make_cloud(failures=[failure])

    with pytest.raises(ConnectionDroppedError):
        api_of(cloud).call("CreateNode", LOCATION, "", {"nodeId": "n"}, node_body())

    assert f"{LOCATION}/nodes/n" in cloud.nodes


@pytest.mark.parametrize(
    "method, item, params",
    [
        ("DeleteQueuedResource", "a", {"force": "true"}),
        ("UpdateNode", "a", {"updateMask": "labels"}),
        ("DeleteNode", "a", {}),
        ("CreateNode", "", {"nodeId": "n"}),
        ("ResetQueuedResource", "a", {}),
    ],
)
def test_operation_may_be_ordered_to_fail_without_effect(
    method: str, item: str, params: dict[str, str]
) -> None:
    """The call succeeds, only its operation knows."""
    failure = CallFailure(method=method, code=500, when="operation", message="an internal error")
    cloud = active_cloud(failures=[failure])
    before = dict(cloud.nodes), dict(cloud.queued_resources)

    body = None if method == "ResetQueuedResource" else node_body()
    operation = api_of(cloud).call(method, LOCATION, item, params, body)
    cloud.advance(1_000)

    error = cloud.operation(str(operation["name"])).error
    assert error
    assert (13, "an internal error") == (error["code"], error["message"])
    assert before == (dict(cloud.nodes), dict(cloud.queued_resources))


def test_calls_are_written_down_with_how_they_were_answered() -> None:
    """Also those that were refused; the path is made up where there is none."""
    cloud = make_cloud()
    api = api_of(cloud)
    caller = Caller("me", "GET", "/v2/x")

    api.call("ListNodes", LOCATION, caller=caller)
    with pytest.raises(ApiError):
        api.call("GetNode", LOCATION, "n")

    calls = api.world.calls.calls()
    assert [("ListNodes", 200, "me", "/v2/x"), ("GetNode", 404, "", f"v2/{LOCATION}/n")] == [
        (call.method, call.status, call.caller, call.path) for call in calls
    ]


@pytest.mark.parametrize("method", ["CreateNode", "DeleteNode"])
def test_repeated_request_id_of_a_node_answers_the_same_operation(method: str) -> None:
    """In the version that has request ids for nodes."""
    cloud = make_cloud()
    api = api_of(cloud)
    api.call("CreateNode", LOCATION, "", {"nodeId": "n"}, node_body())
    params = {"requestId": "r", **({"nodeId": "m"} if method == "CreateNode" else {})}
    item = "" if method == "CreateNode" else "n"

    names = {
        api.call(method, LOCATION, item, params, node_body(), "v2alpha1")["name"] for _ in range(2)
    }

    assert 1 == len(names)


def test_request_id_of_a_create_deletes_nothing() -> None:
    """A repetition is one of the same kind of call."""
    cloud = make_cloud()
    api = api_of(cloud)
    params = {"requestId": "r"}
    made = api.call(
        "CreateNode", LOCATION, "", {"nodeId": "n", **params}, node_body(), version="v2alpha1"
    )

    cloud.advance(BOOTED_AT)
    gone = api.call("DeleteNode", LOCATION, "n", params, version="v2alpha1")

    assert made["name"] != gone["name"]
    assert "delete" == cloud.operation(str(gone["name"])).verb


@pytest.mark.parametrize("value, forced", [("true", True), ("True", True), ("false", False)])
def test_force_is_read_in_any_case(value: str, *, forced: bool) -> None:
    """Gcloud writes True."""
    cloud = active_cloud()
    api = api_of(cloud)

    if forced:
        api.call("DeleteQueuedResource", LOCATION, "a", {"force": value})
    else:
        with pytest.raises(ApiError, match="without force"):
            api.call("DeleteQueuedResource", LOCATION, "a", {"force": value})
    with pytest.raises(ApiError, match="TYPE_BOOL"):
        api.call("DeleteQueuedResource", LOCATION, "a", {"force": "yes"})


def test_numbers_are_given_to_those_who_ask_for_them() -> None:
    """Google's client library does."""
    api = api_of(active_cloud())
    params = {"$alt": "json;enum-encoding=int"}

    assert 2 == api.call("GetNode", LOCATION, "a", params)["state"]
    assert "READY" == api.call("GetNode", LOCATION, "a", {"alt": "json"})["state"]
