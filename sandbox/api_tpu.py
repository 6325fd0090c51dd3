"""The Cloud TPU REST API, versions 1, 2 and 2alpha1: only routes; ``service.py`` answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response, jsonify, request

from sandbox.errors import invalid
from sandbox.methods import METHODS
from sandbox.parameters import normal
from sandbox.schema import VERSIONS
from sandbox.service import Caller, Service

if TYPE_CHECKING:
    from sandbox.world import World

# What Google's front end takes of a request.
BODY_BYTES_MAX = 10 * 1024 * 1024
_PROJECT = "/projects/<project>/locations"


def blueprint(world: World) -> Blueprint:
    """Make the routes, also of what a version does not have: the service says so."""
    routes = Blueprint("tpu", __name__)
    api = _TpuApi(world)
    for version in VERSIONS:
        for name, row in METHODS.items():
            place = _PROJECT if name == "ListLocations" else f"{_PROJECT}/<zone>{row.path}"
            routes.add_url_rule(
                f"/{version}{place}",
                f"{version}-{name}",
                api.call,
                methods=[row.http],
                defaults={"version": version, "method": name},
            )
    return routes


class _TpuApi:
    def __init__(self, world: World) -> None:
        self._world = world
        self._service = Service(world)

    def call(
        self, *, version: str, method: str, project: str, zone: str = "", item: str = ""
    ) -> Response:
        """Hand a request over to the service."""
        location = f"projects/{project}/locations/{zone}" if zone else f"projects/{project}"
        caller = Caller(
            name=self._world.caller(request),
            http_method=request.method,
            path=request.full_path.rstrip("?"),
        )
        body = _body() if METHODS[method].body else None
        params = {"$fields": request.headers.get("X-Goog-FieldMask", ""), **normal(request.args)}
        answer = self._service.call(method, location, item, params, body, version, caller=caller)
        return jsonify(answer)


def _body() -> object:
    """Read the body: JSON, or nothing at all."""
    if (request.content_length or 0) > BODY_BYTES_MAX:
        raise invalid(f"Request payload size exceeds the limit: {BODY_BYTES_MAX} bytes.")
    if not request.get_data():
        return None
    body = request.get_json(force=True, silent=True)
    if body is None:
        raise invalid("Invalid JSON payload received. Unexpected token.")
    return body
