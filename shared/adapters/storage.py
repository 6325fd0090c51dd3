"""Blobs in Cloud Storage, or in anything that speaks its JSON API.

Importing this module loads Google's libraries: let only the wiring do it, and late.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from google.api_core import exceptions as api
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage  # type: ignore[attr-defined]  # it has no types
from google.cloud.storage.retry import DEFAULT_RETRY

from shared.adapters.google_errors import GOOGLE_ERRORS, failure_of, meaning
from shared.errors import Conflict, ControlPlaneError, Unavailable
from shared.ports import Blob, BlobInfo

TIMEOUT_S: Final = (5.0, 30.0)  # to connect, to read
RETRY: Final = DEFAULT_RETRY.with_delay(initial=0.1, maximum=2.0).with_timeout(20.0)
READS_MAX: Final = 5  # how often a read starts again because the object changed meanwhile
_PRECONDITION_FAILED: Final = 412
_FIELDS: Final = "items(name,size,generation,updated),nextPageToken"


def connect(bucket: str, *, project: str, endpoint: str | None = None) -> GoogleBlobs:
    """Open a bucket at Google, or without credentials at an endpoint (``http://host:port``)."""
    if endpoint is None:
        return GoogleBlobs(bucket, storage.Client(project=project))
    client = storage.Client(
        project=project,
        credentials=AnonymousCredentials(),
        client_options={"api_endpoint": endpoint},
    )
    return GoogleBlobs(bucket, client)


class GoogleBlobs:
    """Objects of one bucket.

    Raises Conflict, NotAuthorized, InvalidRequest, RateLimited or Unavailable.
    """

    def __init__(self, bucket: str, client: storage.Client) -> None:
        self._client = client
        self._bucket = client.bucket(bucket)

    def get(self, name: str) -> Blob | None:
        """Read an object, or None; data and generation belong together."""
        with _translated():
            for _ in range(READS_MAX):
                found = self._bucket.get_blob(name, timeout=TIMEOUT_S, retry=RETRY)
                if found is None:
                    return None
                data = _data_of(found)
                if data is not None:
                    return Blob(name, data, int(found.generation), found.updated)
        raise Unavailable(f"{name} changed {READS_MAX} times while it was read")

    def put(self, name: str, data: bytes, *, if_generation: int | None = None) -> int:
        """Write an object.  Idempotent: by generation, where one is given."""
        blob = self._bucket.blob(name)
        with _translated():
            blob.upload_from_string(
                data,
                content_type="application/octet-stream",
                if_generation_match=if_generation,
                timeout=TIMEOUT_S,
                retry=RETRY,
            )
        return int(blob.generation)

    def list(self, prefix: str, *, after: str = "") -> list[BlobInfo]:
        """List the objects under a prefix by name."""
        with _translated():
            found = self._client.list_blobs(
                self._bucket,
                prefix=prefix,
                start_offset=after or None,
                fields=_FIELDS,
                timeout=TIMEOUT_S,
                retry=RETRY,
            )
            return [
                BlobInfo(blob.name, int(blob.size), int(blob.generation), blob.updated)
                for blob in found
                if blob.name > after  # the offset itself is included by the API
            ]


def _data_of(found: storage.Blob) -> bytes | None:
    """Download just what was found; None if it was replaced or removed meanwhile."""
    try:
        return bytes(
            found.download_as_bytes(
                if_generation_match=found.generation, timeout=TIMEOUT_S, retry=RETRY
            )
        )
    except (api.PreconditionFailed, api.NotFound):
        return None


@contextmanager
def _translated() -> Iterator[None]:
    """Turn Google's errors into ours."""
    try:
        yield
    except GOOGLE_ERRORS as error:
        raise _error_of(error) from error


def _error_of(error: Exception) -> ControlPlaneError:
    failure = failure_of(error)
    if failure.http == _PRECONDITION_FAILED:
        return Conflict(failure.text)
    return meaning(failure, "Cloud Storage", role="a role on this folder of the bucket")
