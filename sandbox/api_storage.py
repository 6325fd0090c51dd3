"""The Cloud Storage JSON API over the objects on disk.

Reads, listings and deletes; ``api_uploads.py`` has the three ways to write.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING

from flask import Blueprint, Response, jsonify, request

from sandbox.codec_storage import (
    error_response,
    render_bucket,
    render_hashes,
    render_layout,
    render_object,
)
from sandbox.errors import JsonObject
from sandbox.objects import (
    BucketNotEmptyError,
    ChecksumMismatchError,
    NotModifiedError,
    ObjectMissingError,
    PreconditionFailedError,
    Preconditions,
)

if TYPE_CHECKING:
    from sandbox.objects import StoredObject
    from sandbox.world import World

_MAX_RESULTS = 1000
_BUCKET_NAME = re.compile(r"[a-z0-9][-_.a-z0-9]{1,61}[a-z0-9]")
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


def blueprint(world: World) -> Blueprint:
    """Make the routes."""
    routes = Blueprint("storage", __name__)
    api = _StorageApi(world)
    routes.before_request(lambda: world.require_service(request, "storage"))
    for path, name, answer, method in (
        ("/storage/v1/b", "list-buckets", api.list_buckets, "GET"),
        ("/storage/v1/b", "make-bucket", api.make_bucket, "POST"),
        ("/storage/v1/b/<bucket>", "get-bucket", api.get_bucket, "GET"),
        ("/storage/v1/b/<bucket>", "delete-bucket", api.delete_bucket, "DELETE"),
        ("/storage/v1/b/<bucket>/storageLayout", "layout", api.layout, "GET"),
        ("/storage/v1/b/<bucket>/managedFolders", "managed-folders", api.managed_folders, "GET"),
        ("/storage/v1/b/<bucket>/o", "list", api.list_objects, "GET"),
        ("/storage/v1/b/<bucket>/o/<object:name>", "get", api.get, "GET"),
        ("/storage/v1/b/<bucket>/o/<object:name>", "delete", api.delete, "DELETE"),
        ("/download/storage/v1/b/<bucket>/o/<object:name>", "download", api.download, "GET"),
    ):
        routes.add_url_rule(path, name, answer, methods=[method])
    register_errors(routes)
    return routes


def register_errors(routes: Blueprint) -> None:
    """Answer the object store's errors in Cloud Storage's shape."""
    for kind, code, reason, message in (
        (ObjectMissingError, 404, "notFound", ""),
        (BucketNotEmptyError, 409, "conflict", ""),
        (
            PreconditionFailedError,
            412,
            "conditionNotMet",
            "At least one of the pre-conditions you specified did not hold.",
        ),
        (
            ChecksumMismatchError,
            400,
            "invalid",
            "Provided hash does not match the calculated hash.",
        ),
    ):
        routes.register_error_handler(
            kind,
            lambda error, code=code, reason=reason, message=message: error_response(
                code, reason, message or str(error)
            ),
        )
    routes.register_error_handler(NotModifiedError, lambda _: Response(status=304))


def preconditions() -> Preconditions:
    """Read the generation preconditions of the request."""
    return Preconditions(
        match=request.args.get("ifGenerationMatch", None, int),
        not_match=request.args.get("ifGenerationNotMatch", None, int),
        metageneration=request.args.get("ifMetagenerationMatch", None, int),
    )


class _StorageApi:
    """The methods of the API that do not write objects."""

    def __init__(self, world: World) -> None:
        self._objects = world.objects

    def list_buckets(self) -> Response:
        """List all buckets."""
        items = [render_bucket(name, request.host_url) for name in self._objects.buckets()]
        return jsonify(kind="storage#buckets", items=items)

    def make_bucket(self) -> Response:
        """Make a bucket."""
        body = request.get_json(silent=True)
        name = str(body.get("name", "")) if isinstance(body, dict) else ""
        if not _BUCKET_NAME.fullmatch(name):
            return error_response(400, "invalid", f"Invalid bucket name: '{name}'")
        if name in self._objects.buckets():
            return error_response(409, "conflict", "Your previous request succeeded already.")
        self._objects.make_bucket(name)
        return jsonify(render_bucket(name, request.host_url))

    def get_bucket(self, bucket: str) -> Response:
        """Read a bucket."""
        self._require_bucket(bucket)
        return jsonify(render_bucket(bucket, request.host_url))

    def delete_bucket(self, bucket: str) -> Response:
        """Delete a bucket that holds nothing."""
        self._objects.delete_bucket(bucket)
        return Response(status=204)

    def layout(self, bucket: str) -> Response:
        """Say how the names of a bucket are kept."""
        self._require_bucket(bucket)
        return jsonify(render_layout(bucket))

    def managed_folders(self, bucket: str) -> Response:
        """List managed folders: there are none."""
        self._require_bucket(bucket)
        return jsonify(kind="storage#managedFolders")

    def get(self, bucket: str, name: str) -> Response:
        """Read an object's metadata, or with ``alt=media`` the object."""
        if request.args.get("alt") == "media":
            return self.download(bucket, name)
        stored = self._objects.get(bucket, name, preconditions())
        self._check_generation(bucket, stored)
        return jsonify(render_object(bucket, stored, request.host_url))

    def download(self, bucket: str, name: str) -> Response:
        """Read an object, or a range of it."""
        stored, data = self._objects.read(bucket, name, preconditions())
        self._check_generation(bucket, stored)
        response = _ranged(data, request.headers.get("Range", ""))
        response.content_type = str(stored.extra.get("contentType", "application/octet-stream"))
        response.headers["X-Goog-Generation"] = str(stored.generation)
        response.headers["X-Goog-Metageneration"] = str(stored.metageneration)
        response.headers["X-Goog-Hash"] = render_hashes(stored)
        response.headers["Accept-Ranges"] = "bytes"
        response.headers["X-Goog-Stored-Content-Length"] = str(stored.size)
        return response

    def delete(self, bucket: str, name: str) -> Response:
        """Delete an object."""
        self._check_generation(bucket, self._objects.get(bucket, name))
        self._objects.delete(bucket, name, preconditions())
        return Response(status=204)

    def list_objects(self, bucket: str) -> Response:
        """List objects by name; with a delimiter, what lies deeper becomes prefixes."""
        prefix = request.args.get("prefix", "")
        delimiter = request.args.get("delimiter", "")
        limit = min(request.args.get("maxResults", _MAX_RESULTS, int) or _MAX_RESULTS, _MAX_RESULTS)
        try:
            after = base64.urlsafe_b64decode(request.args.get("pageToken", "")).decode()
        except ValueError:
            return error_response(400, "invalid", "Invalid page token.")
        start = max(after, request.args.get("startOffset", ""))
        answer = JsonObject(kind="storage#objects")
        items: list[JsonObject] = []
        prefixes: list[str] = []
        for stored in self._objects.list_from(bucket, prefix, start):
            folder = _folder(stored.name, prefix, delimiter)
            if stored.name == after or (folder and folder <= after) or folder in prefixes:
                continue
            if len(items) + len(prefixes) == limit:
                last = max([*prefixes[-1:], *(str(item["name"]) for item in items[-1:])])
                answer["nextPageToken"] = base64.urlsafe_b64encode(last.encode()).decode()
                break
            if folder:
                prefixes.append(folder)
            else:
                items.append(render_object(bucket, stored, request.host_url))
        return jsonify({**answer, "items": items, "prefixes": prefixes})

    def _require_bucket(self, bucket: str) -> None:
        if bucket not in self._objects.buckets():
            raise ObjectMissingError("The specified bucket does not exist.")

    def _check_generation(self, bucket: str, stored: StoredObject) -> None:
        """Refuse a read of a generation that is no longer the present one."""
        wanted = request.args.get("generation", stored.generation, int)
        if wanted != stored.generation:
            raise ObjectMissingError(f"No such object: {bucket}/{stored.name}#{wanted}")


def _folder(name: str, prefix: str, delimiter: str) -> str:
    """Return the prefix that a name is hidden behind, or ""."""
    rest = name.removeprefix(prefix)
    if not delimiter or delimiter not in rest:
        return ""
    return prefix + rest.partition(delimiter)[0] + delimiter


def _ranged(data: bytes, header: str) -> Response:
    match = _RANGE.fullmatch(header)
    if match is None or not any(match.groups()):
        return Response(data)
    first, last = match.groups()
    start = int(first) if first else max(0, len(data) - int(last))
    end = min(int(last) + 1, len(data)) if first and last else len(data)
    if start >= len(data):
        return Response(status=416, headers={"Content-Range": f"bytes */{len(data)}"})
    headers = {"Content-Range": f"bytes {start}-{end - 1}/{len(data)}"}
    return Response(data[start:end], 206, headers)
