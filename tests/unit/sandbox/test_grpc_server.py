"""From request messages to what REST would have sent, for every method and version."""

import pytest

from sandbox import grpc_server
from sandbox.errors import ApiError
from sandbox.grpc_server import Asked, Route
from sandbox.methods import METHODS

ROUTES = grpc_server.routes()
L = "projects/p/locations/us-central2-b"
TPU = "/google.cloud.tpu.v2.Tpu"


def ask(path: str, **fields: object) -> Asked:
    """Read a request message with these fields."""
    route = ROUTES[path]
    return grpc_server.read(route, route.request(**fields))


@pytest.mark.parametrize(
    "path, fields, expected",
    [
        pytest.param(
            f"{TPU}/ListNodes",
            {"parent": L, "page_size": 3, "page_token": "t"},
            Asked(L, L, "", {"pageSize": "3", "pageToken": "t"}),
            id="numbers and texts of a query",
        ),
        pytest.param(
            f"{TPU}/CreateNode",
            {"parent": L, "node_id": "n", "node": {"accelerator_type": "v4-8"}},
            Asked(L, L, "", {"nodeId": "n"}, {"acceleratorType": "v4-8"}),
            id="a field as the body",
        ),
        pytest.param(
            f"{TPU}/UpdateNode",
            {
                "node": {"name": f"{L}/nodes/n", "description": "d"},
                "update_mask": {"paths": ["description", "labels"]},
            },
            Asked(
                f"{L}/nodes/n", L, "n", {"updateMask": "description,labels"}, {"description": "d"}
            ),
            id="a name within the body, and a field mask",
        ),
        pytest.param(
            f"{TPU}/DeleteQueuedResource",
            {"name": f"{L}/queuedResources/q", "force": True},
            Asked(f"{L}/queuedResources/q", L, "q", {"force": "true"}),
            id="yes and no as REST writes them",
        ),
        pytest.param(
            f"{TPU}/GetGuestAttributes",
            {"name": f"{L}/nodes/n", "worker_ids": ["1"]},
            Asked(f"{L}/nodes/n", L, "n", body={"workerIds": ["1"]}),
            id="all of the message as the body",
        ),
        pytest.param(
            "/google.cloud.location.Locations/ListLocations",
            {"name": "projects/p"},
            Asked("projects/p", "projects/p", ""),
            id="a project without a location",
        ),
        pytest.param(
            "/google.longrunning.Operations/GetOperation",
            {"name": f"{L}/operations/o"},
            Asked(f"{L}/operations/o", L, "o"),
            id="an operation",
        ),
    ],
)
def test_request_becomes_what_rest_would_have_sent(
    path: str, fields: dict[str, object], expected: Asked
) -> None:
    """Location, id, query and body."""
    assert expected == ask(path, **fields)


@pytest.mark.parametrize(
    "path, fields",
    [
        pytest.param(f"{TPU}/GetNode", {"name": ""}, id="nothing"),
        pytest.param(f"{TPU}/GetNode", {"name": L}, id="a location"),
        pytest.param(f"{TPU}/GetNode", {"name": f"{L}/queuedResources/q"}, id="of another kind"),
        pytest.param(f"{TPU}/GetNode", {"name": f"{L}/nodes/n/x"}, id="too long"),
        pytest.param(f"{TPU}/ListNodes", {"parent": "projects/p"}, id="a project"),
        pytest.param(f"{TPU}/ListNodes", {"parent": f"{L}/nodes/n"}, id="a node as the parent"),
        pytest.param(f"{TPU}/CreateNode", {"node": {}}, id="no parent"),
    ],
)
def test_name_that_is_none_is_refused(path: str, fields: dict[str, object]) -> None:
    """REST has no route for it; gRPC has to look."""
    with pytest.raises(ApiError, match="Invalid resource name") as refused:
        ask(path, **fields)

    assert "INVALID_ARGUMENT" == refused.value.status


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES)
def test_messages_fit_the_method(route: Route) -> None:
    """What starts an operation answers with one, the others with what their name says."""
    response = route.response.DESCRIPTOR.full_name

    assert (route.row.starts is not None) <= (response == "google.longrunning.Operation")
    assert route.request.DESCRIPTOR.name == f"{route.method}Request"
    if route.method.startswith("List"):
        assert response.endswith(f".{route.method}Response")
    if route.version:
        assert response.startswith((f"google.cloud.tpu.{route.version}.", "google.longrunning."))


@pytest.mark.parametrize("version", grpc_server.VERSIONS)
def test_every_method_of_the_version_that_the_library_knows_is_served(version: str) -> None:
    """Those of mixins are under their own services."""
    served = {route.method for route in ROUTES.values() if route.version in {"", version}}
    wanted = {method for method, row in METHODS.items() if version in row.versions}

    assert set() == wanted - served
