"""Objects made of other objects: copies, compositions, and changed metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, Response, jsonify, request

from sandbox.api_storage import preconditions, register_errors
from sandbox.codec_storage import error_response, render_object
from sandbox.objects import ObjectMissingError, Preconditions

if TYPE_CHECKING:
    from sandbox.errors import JsonObject
    from sandbox.objects import StoredObject
    from sandbox.world import World

_OBJECT = "/storage/v1/b/<bucket>/o/<object:name>"
_TARGET = "b/<target_bucket>/o/<object:target>"
# More than that Cloud Storage refuses to put together in one call.
_SOURCES_MAX = 32
# What an object keeps when it is copied without metadata of its own.
_PATCHABLE = frozenset(
    {
        "cacheControl",
        "contentDisposition",
        "contentEncoding",
        "contentLanguage",
        "contentType",
        "customTime",
        "metadata",
        "storageClass",
    }
)


def blueprint(world: World) -> Blueprint:
    """Make the routes."""
    routes = Blueprint("copies", __name__)
    api = _CopyApi(world)
    routes.before_request(lambda: world.require_service(request, "storage"))
    for path, name, answer, method in (
        (f"{_OBJECT}/rewriteTo/{_TARGET}", "rewrite", api.rewrite, "POST"),
        (f"{_OBJECT}/copyTo/{_TARGET}", "copy", api.copy, "POST"),
        (f"{_OBJECT}/compose", "compose", api.compose, "POST"),
        (_OBJECT, "patch", api.patch, "PATCH"),
    ):
        routes.add_url_rule(path, name, answer, methods=[method])
    register_errors(routes)
    return routes


class _CopyApi:
    """The methods of the API that write an object without taking bytes in."""

    def __init__(self, world: World) -> None:
        self._objects = world.objects

    def rewrite(self, bucket: str, name: str, target_bucket: str, target: str) -> Response:
        """Copy an object; here that is always done in one call."""
        stored = self._copied(bucket, name, target_bucket, target)
        return jsonify(
            kind="storage#rewriteResponse",
            totalBytesRewritten=str(stored.size),
            objectSize=str(stored.size),
            done=True,
            resource=render_object(target_bucket, stored, request.host_url),
        )

    def copy(self, bucket: str, name: str, target_bucket: str, target: str) -> Response:
        """Copy an object."""
        stored = self._copied(bucket, name, target_bucket, target)
        return jsonify(render_object(target_bucket, stored, request.host_url))

    def compose(self, bucket: str, name: str) -> Response:
        """Put up to 32 objects one behind the other."""
        body = _body()
        sources = _sources(body)
        if not 1 <= len(sources) <= _SOURCES_MAX:
            message = f"The number of source components must be between 1 and {_SOURCES_MAX}."
            return error_response(400, "invalid", message)
        data = b"".join(self._part(bucket, source) for source in sources)
        destination = body.get("destination")
        extra = _metadata(destination) if isinstance(destination, dict) else {}
        stored = self._objects.put(
            bucket,
            name,
            data,
            extra={**extra, "componentCount": len(sources)},
            preconditions=preconditions(),
        )
        return jsonify(render_object(bucket, stored, request.host_url))

    def patch(self, bucket: str, name: str) -> Response:
        """Change what is said of an object; null takes something back."""
        changes = {key: value for key, value in _body().items() if key in _PATCHABLE}
        stored = self._objects.patch(bucket, name, changes, preconditions())
        return jsonify(render_object(bucket, stored, request.host_url))

    def _copied(self, bucket: str, name: str, target_bucket: str, target: str) -> StoredObject:
        wanted = Preconditions(
            match=request.args.get("ifSourceGenerationMatch", None, int),
            not_match=request.args.get("ifSourceGenerationNotMatch", None, int),
        )
        source, data = self._objects.read(bucket, name, wanted)
        _require_generation(bucket, source, request.args.get("sourceGeneration"))
        extra = _metadata(_body()) or dict(source.extra)
        return self._objects.put(
            target_bucket, target, data, extra=extra, preconditions=preconditions()
        )

    def _part(self, bucket: str, source: JsonObject) -> bytes:
        wanted = source.get("objectPreconditions")
        match = wanted.get("ifGenerationMatch") if isinstance(wanted, dict) else None
        name, generation = str(source.get("name", "")), int(match) if match is not None else None
        stored, data = self._objects.read(bucket, name, Preconditions(generation))
        _require_generation(bucket, stored, source.get("generation"))
        return data


def _require_generation(bucket: str, stored: StoredObject, wanted: object) -> None:
    """Refuse a source that is no longer the present generation: older ones are not kept."""
    if wanted is not None and str(wanted) != str(stored.generation):
        raise ObjectMissingError(f"No such object: {bucket}/{stored.name}#{wanted}")


def _sources(body: JsonObject) -> list[JsonObject]:
    listed = body.get("sourceObjects")
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _metadata(body: JsonObject) -> JsonObject:
    return {key: value for key, value in body.items() if key in _PATCHABLE}


def _body() -> JsonObject:
    body = request.get_json(silent=True)
    return body if isinstance(body, dict) else {}
