"""The Cloud TPU API over gRPC: what Google's client library speaks when nobody tells it otherwise.

Every method is the one of ``service.py``: a request message becomes what REST would have sent,
an answer becomes the response message.  Importing this takes half a second (``grpc_door.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final

import grpc
from google.longrunning import operations_pb2  # type: ignore[import-untyped]  # it has no types
from google.protobuf import empty_pb2, json_format
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]  # as above

from sandbox.errors import ApiError, invalid
from sandbox.methods import METHODS
from sandbox.service import Caller, Service
from sandbox.web import ConnectionDroppedError

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from sandbox.errors import JsonObject
    from sandbox.methods import Method
    from sandbox.world import World

THREADS: Final = 8
VERSIONS: Final = ("v2", "v2alpha1")
_NAME = re.compile(r"(projects/[^/]+(?:/locations/[^/]+)?)(?:/([A-Za-z]+)/([^/]+))?")
_LOCATION_PARTS = 4
_OPERATIONS_KEPT = 20_000
_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}
_DETAILS_KEY = "grpc-status-details-bin"
# Imported like this: mypy would take all of google.cloud for a package without types.
locations_pb2 = import_module("google.cloud.location.locations_pb2")
# Errors carry these; a message is read from JSON only if its type was loaded.
DETAILS: Final = error_details_pb2

# What the library's mixins offer beside the API itself: service, request and response.
_MIXINS: Final[Mapping[str, tuple[str, type[Message], type[Message]]]] = {
    "GetOperation": (
        "google.longrunning.Operations",
        operations_pb2.GetOperationRequest,
        operations_pb2.Operation,
    ),
    "ListOperations": (
        "google.longrunning.Operations",
        operations_pb2.ListOperationsRequest,
        operations_pb2.ListOperationsResponse,
    ),
    "CancelOperation": (
        "google.longrunning.Operations",
        operations_pb2.CancelOperationRequest,
        empty_pb2.Empty,
    ),
    "DeleteOperation": (
        "google.longrunning.Operations",
        operations_pb2.DeleteOperationRequest,
        empty_pb2.Empty,
    ),
    "WaitOperation": (
        "google.longrunning.Operations",
        operations_pb2.WaitOperationRequest,
        operations_pb2.Operation,
    ),
    "ListLocations": (
        "google.cloud.location.Locations",
        locations_pb2.ListLocationsRequest,
        locations_pb2.ListLocationsResponse,
    ),
    "GetLocation": (
        "google.cloud.location.Locations",
        locations_pb2.GetLocationRequest,
        locations_pb2.Location,
    ),
}


def serve(world: World) -> tuple[grpc.Server, int]:
    """Start a server on a free port of the loopback address; return it and the port."""
    server = grpc.server(ThreadPoolExecutor(THREADS, thread_name_prefix="grpc"))
    server.add_generic_rpc_handlers((_Methods(Api(world)),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one service: its row in the table, its version, its messages."""

    method: str
    version: str
    request: type[Message]
    response: type[Message]

    @property
    def row(self) -> Method:
        """Return what the table says of the method."""
        return METHODS[self.method]


def routes() -> Mapping[str, Route]:
    """Return all routes by the path that clients call."""
    found = {
        f"/{service}/{method}": Route(method, "", request, response)
        for method, (service, request, response) in _MIXINS.items()
    }
    for version in VERSIONS:
        types = import_module(f"google.cloud.tpu_{version}").types
        for method, row in METHODS.items():
            if version in row.versions and hasattr(types, f"{method}Request"):
                path = f"/google.cloud.tpu.{version}.Tpu/{method}"
                found[path] = Route(
                    method,
                    version,
                    _message(types, f"{method}Request"),
                    _response(types, method, row),
                )
    return found


class Api:
    """Translates calls.  Remembers in which version an operation was begun: its answer has it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._service = Service(world)
        self._versions: dict[str, str] = {}

    def call(self, route: Route, message: Message, metadata: Mapping[str, str]) -> Message:
        """Answer one call.  Raises ApiError or ConnectionDroppedError."""
        asked = read(route, message)
        version = route.version or self._versions.get(asked.name, VERSIONS[0])
        caller = Caller(
            name=self._world.identity.host_of(metadata.get("authorization"))
            or metadata.get("user-agent", ""),
            http_method="gRPC",
            path=f"{version}/{route.method}/{asked.name}",
        )
        answer = self._service.call(
            route.method,
            asked.location,
            asked.item,
            asked.params,
            asked.body,
            version,
            caller=caller,
        )
        if route.response is operations_pb2.Operation:
            self._remember(str(answer["name"]), version)
        return json_format.ParseDict(answer, route.response(), ignore_unknown_fields=True)

    def _remember(self, operation: str, version: str) -> None:
        self._versions[operation] = version
        if len(self._versions) > _OPERATIONS_KEPT:
            # The oldest one; another thread may have been faster.
            self._versions.pop(next(iter(self._versions)), None)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as REST would have sent it.  ``name`` is the resource or its parent."""

    name: str
    location: str
    item: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: JsonObject | None = None


def read(route: Route, message: Message) -> Asked:
    """Take a request message apart.  Raises INVALID_ARGUMENT for a name that is none."""
    fields: JsonObject = json_format.MessageToDict(message)
    body = _taken_body(route.row.body, fields)
    source = body if body and "parent" not in fields and "name" not in fields else fields
    name = str(source.pop("parent", None) or source.pop("name", None) or "")
    location, item = _split(route, name)
    if route.row.body == "*":
        return Asked(name, location, item, body=fields)
    return Asked(name, location, item, {key: _text(fields[key]) for key in fields}, body)


def _taken_body(name: str, fields: JsonObject) -> JsonObject | None:
    """Take the field that REST sends as the body out of the others."""
    if name in {"", "*"}:
        return None
    first, *others = name.split("_")
    body = fields.pop(first + "".join(map(str.capitalize, others)), {})
    assert isinstance(body, dict), "the body of a request is a message"
    return body


def _split(route: Route, name: str) -> tuple[str, str]:
    """Split a resource's name into its location and its id."""
    match = _NAME.fullmatch(name)
    wants_item = route.row.path.endswith("<item>") or "<item>:" in route.row.path
    is_whole = match is not None and (
        route.method == "ListLocations" or match[1].count("/") == _LOCATION_PARTS - 1
    )
    if match is None or not is_whole or wants_item != bool(match[3]):
        raise invalid(f"Invalid resource name '{name}'.")
    if wants_item and match[2] != route.row.path.split("/")[1]:
        raise invalid(
            f"Invalid resource name '{name}': it names no {route.row.path.split('/')[1]}."
        )
    return match[1], match[3] or ""


def _text(value: object) -> str:
    """Write a field as it stands in a query."""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Methods(grpc.GenericRpcHandler):
    """Hands calls over, whatever method they are of."""

    def __init__(self, api: Api) -> None:
        self._handlers = {
            path: grpc.unary_unary_rpc_method_handler(
                _answering(api, route),
                request_deserializer=route.request.FromString,
                response_serializer=route.response.SerializeToString,
            )
            for path, route in routes().items()
        }

    def service(
        self, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Message, Message] | None:
        """Find what answers a path; None makes it UNIMPLEMENTED."""
        return self._handlers.get(handler_call_details.method)


def _answering(api: Api, route: Route) -> Callable[[Message, grpc.ServicerContext], Message]:
    def answer(message: Message, context: grpc.ServicerContext) -> Message:
        metadata = {key: str(value) for key, value in context.invocation_metadata()}
        try:
            return api.call(route, message, metadata)
        except ApiError as error:
            status = json_format.ParseDict(error.rpc_status(), status_pb2.Status())
            context.set_trailing_metadata(((_DETAILS_KEY, status.SerializeToString()),))
            context.abort(_CODES[error.rpc_code], error.message)
        except ConnectionDroppedError:
            context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
        raise AssertionError("an aborted call does not go on")

    return answer


def _message(types: object, name: str) -> type[Message]:
    """Return the message behind a class of the client library."""
    wrapper = getattr(types, name)
    message: type[Message] = type(wrapper.pb(wrapper()))
    return message


def _response(types: object, method: str, row: Method) -> type[Message]:
    if row.starts:
        operation: type[Message] = operations_pb2.Operation
        return operation
    named = f"{method}Response"
    return _message(types, named if hasattr(types, named) else method.removeprefix("Get"))
