"""Between our objects and the JSON of Cloud Storage."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from flask import Response, jsonify

if TYPE_CHECKING:
    from sandbox.errors import JsonObject
    from sandbox.objects import StoredObject


def render_object(bucket: str, stored: StoredObject, base_url: str) -> JsonObject:
    """Render an object's metadata; numbers of 64 bits are strings."""
    link = f"{base_url}storage/v1/b/{bucket}/o/{quote(stored.name, safe='')}"
    media = link.replace("/storage/v1/", "/download/storage/v1/", 1)
    at = timestamp(stored.created_at)
    rendered: JsonObject = {
        "storageClass": "STANDARD",
        "contentType": "application/octet-stream",
        **stored.extra,
        "kind": "storage#object",
        "id": f"{bucket}/{stored.name}/{stored.generation}",
        "selfLink": link,
        "mediaLink": f"{media}?generation={stored.generation}&alt=media",
        "name": stored.name,
        "bucket": bucket,
        "generation": str(stored.generation),
        "metageneration": str(stored.metageneration),
        "size": str(stored.size),
        "md5Hash": stored.md5,
        "crc32c": stored.crc32c,
        "etag": stored.md5,
        "timeCreated": at,
        "updated": timestamp(stored.updated_at or stored.created_at),
    }
    if is_composite(stored):
        del rendered["md5Hash"]
    return rendered


def render_hashes(stored: StoredObject) -> str:
    """Render the header with which a download can be checked."""
    crc32c = f"crc32c={stored.crc32c}"
    return crc32c if is_composite(stored) else f"{crc32c},md5={stored.md5}"


def is_composite(stored: StoredObject) -> bool:
    """Tell whether nobody has read it from end to end: Cloud Storage knows no MD5 of it then."""
    return "componentCount" in stored.extra


def render_bucket(name: str, base_url: str) -> JsonObject:
    """Render a bucket's metadata."""
    return {
        "kind": "storage#bucket",
        "id": name,
        "name": name,
        "selfLink": f"{base_url}storage/v1/b/{name}",
        "location": "US",
        "locationType": "multi-region",
        "storageClass": "STANDARD",
        "metageneration": "1",
    }


def render_layout(name: str) -> JsonObject:
    """Render how a bucket's names are kept: flat, as in a bucket without folders."""
    return {
        "kind": "storage#storageLayout",
        "bucket": name,
        "location": "US",
        "locationType": "multi-region",
        "hierarchicalNamespace": {"enabled": False},
    }


def error_response(code: int, reason: str, message: str) -> Response:
    """Answer an error in Cloud Storage's shape."""
    item: JsonObject = {"domain": "global", "reason": reason, "message": message}
    if reason == "conditionNotMet":
        item |= {"locationType": "header", "location": "If-Match"}
    response = jsonify(error={"code": code, "message": message, "errors": [item]})
    response.status_code = code
    return response


def timestamp(at: float) -> str:
    """Render a time with milliseconds, as Cloud Storage does."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
