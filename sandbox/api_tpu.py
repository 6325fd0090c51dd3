"""The Cloud TPU REST API, version 2, over the simulated cloud.

Only routes and parameters: rules are in ``cloud.py``, shapes in ``codec.py``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from flask import Blueprint, Response, jsonify, request

from sandbox import codec
from sandbox.calls import Call
from sandbox.errors import STATUS_OF_HTTP, ApiError, JsonObject, invalid
from sandbox.resources import zone_of

if TYPE_CHECKING:
    from sandbox.cloud import Cloud
    from sandbox.resources import Operation
    from sandbox.world import World

_LOCATION = "/v2/projects/<project>/locations/<zone>"
PAGE_SIZE_DEFAULT = 500
PAGE_SIZE_MAX = 1000


def blueprint(world: World) -> Blueprint:
    """Make the routes."""
    routes = Blueprint("tpu", __name__)
    api = _TpuApi(world)

    def route(method: str, path: str, name: str, answer: Callable[..., JsonObject]) -> None:
        def handle(project: str, zone: str, item: str = "") -> Response:
            return api.call(name, answer, f"projects/{project}/locations/{zone}", item)

        routes.add_url_rule(_LOCATION + path, name, handle, methods=[method])

    route("POST", "/queuedResources", "CreateQueuedResource", api.create_queued)
    route("GET", "/queuedResources", "ListQueuedResources", api.list_queued)
    route("GET", "/queuedResources/<item>", "GetQueuedResource", api.get_queued)
    route("DELETE", "/queuedResources/<item>", "DeleteQueuedResource", api.delete_queued)
    route("POST", "/queuedResources/<item>:reset", "ResetQueuedResource", api.unsupported)
    route("POST", "/nodes", "CreateNode", api.create_node)
    route("GET", "/nodes", "ListNodes", api.list_nodes)
    route("GET", "/nodes/<item>", "GetNode", api.get_node)
    route("PATCH", "/nodes/<item>", "UpdateNode", api.update_node)
    route("DELETE", "/nodes/<item>", "DeleteNode", api.delete_node)
    route("POST", "/nodes/<item>:start", "StartNode", api.unsupported)
    route("POST", "/nodes/<item>:stop", "StopNode", api.unsupported)
    route("POST", "/nodes/<item>:getGuestAttributes", "GetGuestAttributes", api.unsupported)
    route("GET", "/operations", "ListOperations", api.list_operations)
    route("GET", "/operations/<item>", "GetOperation", api.get_operation)
    return routes


class _TpuApi:
    """One method for each method of the API, named alike: (cloud, location, item) → JSON."""

    def __init__(self, world: World) -> None:
        self._world = world

    def call(
        self, method: str, answer: Callable[..., JsonObject], location: str, item: str
    ) -> Response:
        """Answer a call, or fail it as ordered, and write it into the log."""
        status = 500
        try:
            with self._world.engine.cloud() as cloud:
                response = jsonify(self._answer(cloud, method, answer, (location, item)))
            status = 200
        except ApiError as error:
            status = error.http_code
            raise
        finally:
            self._log(method, status)
        return response

    def create_queued(self, cloud: Cloud, location: str, _: str) -> JsonObject:
        """Start to create a queued resource."""
        name = f"{location}/queuedResources/{_required('queuedResourceId')}"
        operation = cloud.create_queued_resource(
            name,
            codec.parse_queued_resource(request.get_json(silent=True), name),
            request_id=request.args.get("requestId", ""),
            failing=_failing_operation(),
        )
        return _operation(cloud, operation)

    def list_queued(self, cloud: Cloud, location: str, _: str) -> JsonObject:
        """List queued resources."""
        rendered = {
            name: codec.render_queued_resource(queued)
            for name, queued in cloud.queued_resources.items()
        }
        return _list(cloud, location, "queuedResources", "QueuedResource", rendered)

    def get_queued(self, cloud: Cloud, location: str, item: str) -> JsonObject:
        """Read a queued resource."""
        cloud.check_location(location)
        queued = cloud.queued_resource(f"{location}/queuedResources/{item}")
        return _numbered(codec.render_queued_resource(queued), "QueuedResource")

    def delete_queued(self, cloud: Cloud, location: str, item: str) -> JsonObject:
        """Start to delete a queued resource."""
        cloud.check_location(location)
        operation = cloud.delete_queued_resource(
            f"{location}/queuedResources/{item}",
            force=request.args.get("force", "").lower() == "true",
            request_id=request.args.get("requestId", ""),
        )
        return _operation(cloud, operation)

    def create_node(self, cloud: Cloud, location: str, _: str) -> JsonObject:
        """Start to create a node by itself."""
        wish, tier = codec.parse_node(request.get_json(silent=True), _required("nodeId"))
        return _operation(cloud, cloud.create_node(location, wish, tier))

    def list_nodes(self, cloud: Cloud, location: str, _: str) -> JsonObject:
        """List nodes."""
        rendered = {
            name: codec.render_node(node, cloud.hosts) for name, node in cloud.nodes.items()
        }
        return _list(cloud, location, "nodes", "Node", rendered)

    def get_node(self, cloud: Cloud, location: str, item: str) -> JsonObject:
        """Read a node."""
        cloud.check_location(location)
        node = cloud.node(f"{location}/nodes/{item}")
        return _numbered(codec.render_node(node, cloud.hosts), "Node")

    def update_node(self, cloud: Cloud, location: str, item: str) -> JsonObject:
        """Start to replace fields of a node."""
        cloud.check_location(location)
        update = codec.parse_update(
            request.get_json(silent=True), request.args.get("updateMask", "")
        )
        return _operation(cloud, cloud.update_node(f"{location}/nodes/{item}", update))

    def delete_node(self, cloud: Cloud, location: str, item: str) -> JsonObject:
        """Start to delete a node."""
        cloud.check_location(location)
        return _operation(cloud, cloud.delete_node(f"{location}/nodes/{item}"))

    def list_operations(self, cloud: Cloud, location: str, _: str) -> JsonObject:
        """List operations."""
        rendered = {
            name: codec.render_operation(operation, cloud.hosts)
            for name, operation in cloud.operations.items()
        }
        return _list(cloud, location, "operations", "", rendered)

    def get_operation(self, cloud: Cloud, location: str, item: str) -> JsonObject:
        """Read an operation."""
        cloud.check_location(location)
        return _operation(cloud, cloud.operation(f"{location}/operations/{item}"))

    def unsupported(self, _cloud: Cloud, _location: str, _item: str) -> JsonObject:
        """Refuse what the sandbox does not simulate."""
        raise ApiError("UNIMPLEMENTED", "The sandbox does not simulate this method.")

    def _answer(
        self,
        cloud: Cloud,
        method: str,
        answer: Callable[..., JsonObject],
        arguments: tuple[str, str],
    ) -> JsonObject:
        failure = cloud.take_failure(method)
        if failure is None:
            return answer(cloud, *arguments)
        error = ApiError(STATUS_OF_HTTP[failure.code], failure.message)
        if failure.when == "operation":
            request.environ["sandbox.failing"] = error
            return answer(cloud, *arguments)
        if failure.when == "after":
            answer(cloud, *arguments)
        raise error

    def _log(self, method: str, status: int) -> None:
        self._world.calls.add(
            Call(
                at=self._world.clock(),
                method=method,
                http_method=request.method,
                path=request.full_path.rstrip("?"),
                caller=self._world.caller(request),
                status=status,
            )
        )


def _operation(cloud: Cloud, operation: Operation) -> JsonObject:
    rendered = codec.render_operation(operation, cloud.hosts)
    return codec.operation_with_numbers(rendered) if _wants_numbers() else rendered


def _numbered(rendered: JsonObject, kind: str) -> JsonObject:
    return codec.with_numbers(rendered, kind) if kind and _wants_numbers() else rendered


def _list(
    cloud: Cloud, location: str, collection: str, kind: str, rendered: Mapping[str, JsonObject]
) -> JsonObject:
    """Answer one page.  Zones that do not answer are named, and hold nothing back otherwise."""
    is_everywhere = zone_of(location) == "-"
    silent = set(cloud.settings.unreachable)
    if not is_everywhere:
        silent &= {zone_of(location)}
    if not is_everywhere and not silent:
        cloud.check_location(location)
    project = location.split("/")[1]
    prefix = f"projects/{project}/" if is_everywhere else f"{location}/"
    names = sorted(
        name for name in rendered if name.startswith(prefix) and zone_of(name) not in silent
    )
    page, token = _page(names)
    answer: JsonObject = {collection: [_numbered(rendered[name], kind) for name in page]}
    if token:
        answer["nextPageToken"] = token
    if silent:
        answer["unreachable"] = [f"projects/{project}/locations/{zone}" for zone in sorted(silent)]
    return answer


def _page(names: Iterable[str]) -> tuple[list[str], str]:
    """Cut out the page that the request asks for, and a token for the next one."""
    size = request.args.get("pageSize", 0, int) or PAGE_SIZE_DEFAULT
    if size < 0:
        raise invalid("Invalid page_size: it must not be negative.")
    try:
        after = base64.urlsafe_b64decode(request.args.get("pageToken", "")).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise invalid("Invalid page_token.") from None
    left = [name for name in names if name > after]
    page = left[: min(size, PAGE_SIZE_MAX)]
    has_more = len(left) > len(page)
    return page, base64.urlsafe_b64encode(page[-1].encode()).decode() if has_more else ""


def _required(parameter: str) -> str:
    if parameter not in request.args:
        raise invalid(f"Missing required parameter '{parameter}'.")
    return request.args[parameter]


def _failing_operation() -> ApiError | None:
    error = request.environ.get("sandbox.failing")
    return error if isinstance(error, ApiError) else None


def _wants_numbers() -> bool:
    """Say whether enums shall be numbers: ``$alt=json;enum-encoding=int``."""
    return "enum-encoding=int" in request.args.get("$alt", request.args.get("alt", ""))
