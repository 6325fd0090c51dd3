"""Put what a job needs into the bucket, each object named by its content."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from shared.core.names import spec_object
from shared.errors import Conflict
from shared.ports import Blobs

if TYPE_CHECKING:
    from cli.packing import Bundle
    from shared.core.spec import JobSpec


def upload_code(blobs: Blobs, bundle: Bundle) -> None:
    """Upload a bundle.  Idempotent: by content."""
    _put_once(blobs, bundle.object_name, bundle.data)


def upload_spec(blobs: Blobs, spec: JobSpec) -> None:
    """Upload a spec.  Idempotent: by content."""
    from shared.core.spec import canonical_json, spec_sha256

    _put_once(blobs, spec_object(spec_sha256(spec)), canonical_json(spec).encode())


def _put_once(blobs: Blobs, name: str, data: bytes) -> None:
    # It is there already: a name like this has one content.
    with suppress(Conflict):
        blobs.put(name, data, if_generation=0)
