"""The three ways to write an object: media, multipart and resumable uploads."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from typing import TYPE_CHECKING
from uuid import uuid4

from flask import Blueprint, Response, jsonify, request

from sandbox.api_storage import preconditions, register_errors
from sandbox.codec_storage import error_response, render_object
from sandbox.errors import SandboxError
from sandbox.objects import Preconditions

if TYPE_CHECKING:
    from sandbox.world import World

_CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_BOUNDARY = re.compile(r"""boundary=(["']?)([^"';]+)\1\s*(?:;|$)""")
_PARTS = (
    rb"DELIMITER[ \t]*(?P<line>\r?\n)(?:.*?(?P=line))??(?P=line)(?P<metadata>.*?)"
    rb"(?P=line)DELIMITER[ \t]*(?P=line)(?P<head>.*?)(?P=line)(?P=line)"
    rb"(?P<data>.*)(?P=line)DELIMITER--"
)
_RESUME_INCOMPLETE = 308


class BadUploadError(SandboxError):
    """An upload that does not fit its own description."""


@dataclass(slots=True)
class _Session:
    """A resumable upload under way."""

    bucket: str
    name: str
    extra: Mapping[str, object]
    preconditions: Preconditions
    data: bytearray = field(default_factory=bytearray)


def blueprint(world: World) -> Blueprint:
    """Make the routes."""
    routes = Blueprint("uploads", __name__)
    api = _UploadApi(world)
    routes.before_request(lambda: world.require_service(request, "storage"))
    # gcloud begins resumable uploads at a path of their own.
    for folder, suffix in (("/upload", ""), ("/resumable/upload", "-resumable")):
        path = f"{folder}/storage/v1/b/<bucket>/o"
        routes.add_url_rule(path, f"start{suffix}", api.start, methods=["POST"])
        routes.add_url_rule(path, f"resume{suffix}", api.resume, methods=["PUT"])
        routes.add_url_rule(path, f"cancel{suffix}", api.cancel, methods=["DELETE"])
    register_errors(routes)
    routes.register_error_handler(
        BadUploadError, lambda error: error_response(400, "invalid", str(error))
    )
    return routes


class _UploadApi:
    """Takes bytes in, and makes objects of them when they are complete."""

    def __init__(self, world: World) -> None:
        self._objects = world.objects
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()

    def start(self, bucket: str) -> Response:
        """Write an object in one call, or begin a resumable upload."""
        kind = request.args.get("uploadType")
        if kind == "media":
            content_type = request.content_type or "application/octet-stream"
            return self._write(bucket, {"contentType": content_type}, request.get_data())
        if kind == "multipart":
            extra, data = _parts(request.content_type or "", request.get_data())
            return self._write(bucket, extra, data)
        if kind == "resumable":
            return self._begin(bucket)
        raise BadUploadError(f"Unknown uploadType '{kind}'.")

    def resume(self, bucket: str) -> Response:
        """Take the next part of a resumable upload, or say how much has arrived."""
        with self._lock:
            key = request.args.get("upload_id", "")
            session = self._sessions.get(key)
            if session is None or session.bucket != bucket:
                return error_response(404, "notFound", "No such upload.")
            if not self._take(session):
                return _incomplete(session)
            del self._sessions[key]
        stored = self._objects.put(
            bucket,
            session.name,
            bytes(session.data),
            extra=session.extra,
            preconditions=session.preconditions,
        )
        return jsonify(render_object(bucket, stored, request.host_url))

    def cancel(self, bucket: str) -> Response:  # noqa: ARG002 - the route's parameter
        """Give a resumable upload up."""
        with self._lock:
            self._sessions.pop(request.args.get("upload_id", ""), None)
        return Response(status=499)

    def _begin(self, bucket: str) -> Response:
        extra = request.get_json(silent=True) or {}
        if not isinstance(extra, dict):
            raise BadUploadError("The metadata of the upload is not a JSON object.")
        if content_type := request.headers.get("X-Upload-Content-Type"):
            extra.setdefault("contentType", content_type)
        name = _name(extra)
        wanted = preconditions()
        self._check_early(bucket, name, wanted)
        key = uuid4().hex
        with self._lock:
            self._sessions[key] = _Session(bucket, name, _clean(extra), wanted)
        response = jsonify({})
        response.headers["Location"] = f"{request.base_url}?uploadType=resumable&upload_id={key}"
        response.headers["X-GUploader-UploadID"] = key
        return response

    def _check_early(self, bucket: str, name: str, wanted: Preconditions) -> None:
        """Refuse at once what would be refused at the end; also an unknown bucket."""
        present = [o for o in self._objects.list_from(bucket, name, name) if o.name == name]
        wanted.check(present[0] if present else None)

    def _take(self, session: _Session) -> bool:
        """Add the request's bytes; return whether the object is complete."""
        header = request.headers.get("Content-Range")
        body = request.get_data()
        if header is None:
            session.data[:] = body
            return True
        match = _CONTENT_RANGE.fullmatch(header)
        if match is None:
            raise BadUploadError(f"Invalid Content-Range '{header}'.")
        first, _, total = match.groups()
        if first is not None:
            if int(first) > len(session.data):
                raise BadUploadError(f"Bytes {len(session.data)}-{int(first) - 1} are missing.")
            session.data[int(first) :] = body
        return total != "*" and len(session.data) == int(total)

    def _write(self, bucket: str, extra: Mapping[str, object], data: bytes) -> Response:
        stored = self._objects.put(
            bucket, _name(extra), data, extra=_clean(extra), preconditions=preconditions()
        )
        return jsonify(render_object(bucket, stored, request.host_url))


def _name(extra: Mapping[str, object]) -> str:
    name = request.args.get("name") or str(extra.get("name") or "")
    if not name:
        raise BadUploadError("Required parameter: name")
    if len(name.encode()) > 1024 or "\n" in name or "\r" in name:  # noqa: PLR2004 - Google's limit
        raise BadUploadError("Invalid object name.")
    return name


def _clean(extra: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in extra.items() if key not in {"name", "bucket"}}


def _parts(content_type: str, body: bytes) -> tuple[dict[str, object], bytes]:
    """Take a multipart/related body apart: the metadata, then the bytes.

    Lines end as the first one does: gcloud writes no carriage returns.  Only the last boundary
    ends the bytes, whatever they contain.
    """
    delimiter = re.escape(b"--" + _boundary(content_type))
    match = re.search(_PARTS.replace(b"DELIMITER", delimiter), body, re.DOTALL)
    if match is None:
        raise BadUploadError("Malformed multipart body.")
    try:
        extra = json.loads(match["metadata"])
    except (ValueError, RecursionError):
        raise BadUploadError("The metadata of the multipart body is not JSON.") from None
    if not isinstance(extra, dict):
        raise BadUploadError("The metadata of the multipart body is not a JSON object.")
    extra.setdefault("contentType", _headers(match["head"]).get_content_type())
    return extra, match["data"]


def _boundary(content_type: str) -> bytes:
    """Find the boundary, which gcloud puts in single quotes: MIME knows no such thing."""
    match = _BOUNDARY.search(content_type)
    if match is None:
        raise BadUploadError("Malformed multipart body: no boundary.")
    return match[2].encode()


def _headers(head: bytes) -> EmailMessage:
    return BytesParser(policy=HTTP).parsebytes(head + b"\r\n\r\n")


def _incomplete(session: _Session) -> Response:
    response = Response(status=_RESUME_INCOMPLETE)
    if session.data:
        response.headers["Range"] = f"bytes=0-{len(session.data) - 1}"
    return response
