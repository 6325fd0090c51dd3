"""The part of the Compute Engine API that gcloud's TPU commands need: the project's metadata.

``gcloud compute tpus tpu-vm ssh`` reads it to see whether OS Login is on and who may log in.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING
from uuid import uuid4

from flask import Blueprint, Response, jsonify, request

from sandbox.codec_storage import error_response, timestamp

if TYPE_CHECKING:
    from sandbox.errors import JsonObject
    from sandbox.world import World

# Every release track has its own version of the API.
_VERSIONS = ("v1", "beta", "alpha")
_OPERATIONS_KEPT = 1000
_SET_METADATA = "compute.projects.setCommonInstanceMetadata"


def blueprint(world: World) -> Blueprint:
    """Make the routes."""
    routes = Blueprint("compute", __name__)
    api = _ComputeApi(world)
    version = f"/compute/<any({', '.join(_VERSIONS)}):version>/projects/<project>"
    operation = f"{version}/global/operations/<name>"
    for path, name, answer, method in (
        (version, "get-project", api.get_project, "GET"),
        (f"{version}/setCommonInstanceMetadata", "set-metadata", api.set_metadata, "POST"),
        (operation, "get-operation", api.get_operation, "GET"),
        (f"{operation}/wait", "wait-operation", api.get_operation, "POST"),
    ):
        routes.add_url_rule(path, name, answer, methods=[method])
    return routes


class _ComputeApi:
    """One method for each method of the API."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._operations: deque[JsonObject] = deque(maxlen=_OPERATIONS_KEPT)
        self._lock = threading.Lock()

    def get_project(self, version: str, project: str) -> Response:
        """Read the project and its metadata: every project is this one, by any name."""
        access = self._world.access
        items = [{"key": key, "value": value} for key, value in access.metadata().items()]
        return jsonify(
            kind="compute#project",
            id="1",
            name=project,
            creationTimestamp=timestamp(0),
            commonInstanceMetadata={
                "kind": "compute#metadata",
                "fingerprint": access.fingerprint(),
                "items": items,
            },
            selfLink=f"{request.host_url}compute/{version}/projects/{project}",
            xpnProjectStatus="UNSPECIFIED_XPN_PROJECT_STATUS",
        )

    def set_metadata(self, version: str, project: str) -> Response:
        """Replace the project's metadata, if it is still what the caller has read."""
        body = request.get_json(silent=True) or {}
        items = _items(body)
        if items is None:
            return error_response(400, "invalid", "Invalid value for field 'resource.items'.")
        with self._lock:
            if body.get("fingerprint") != self._world.access.fingerprint():
                message = "Supplied fingerprint does not match current metadata fingerprint."
                return error_response(412, "conditionNotMet", message)
            self._world.access.set_metadata(items)
        # The hosts of the sandbox shall know it now.
        with self._world.engine.cloud():
            return jsonify(self._begin(version, project))

    def get_operation(self, version: str, project: str, name: str) -> Response:  # noqa: ARG002 - the route's
        """Read an operation; waiting for one takes no time, for it is done."""
        found = [operation for operation in self._operations if operation["name"] == name]
        if not found:
            message = f"The resource 'operations/{name}' was not found"
            return error_response(404, "notFound", message)
        return jsonify(found[0])

    def _begin(self, version: str, project: str) -> JsonObject:
        """Make an operation: to its caller it runs, to those who ask again it is done."""
        name = f"operation-{uuid4().hex}"
        link = f"{request.host_url}compute/{version}/projects/{project}"
        running: JsonObject = {
            "kind": "compute#operation",
            "id": str(len(self._operations) + 1),
            "name": name,
            "operationType": _SET_METADATA,
            "targetLink": link,
            "status": "RUNNING",
            "progress": 0,
            "insertTime": timestamp(self._world.clock()),
            "selfLink": f"{link}/global/operations/{name}",
        }
        self._operations.append({**running, "status": "DONE", "progress": 100})
        return running


def _items(body: object) -> dict[str, str] | None:
    """Read the metadata of a request; None if it is none."""
    items = body.get("items", []) if isinstance(body, dict) else None
    if not isinstance(items, list):
        return None
    if not all(isinstance(item, dict) and item.get("key") for item in items):
        return None
    return {str(item["key"]): str(item.get("value", "")) for item in items}
