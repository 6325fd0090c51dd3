"""Put what a job needs into its team's folder of the bucket, each object named by its content."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from cli.errors import CliError
from shared.core.names import code_object, spec_object
from shared.errors import Conflict, NotAuthorized
from shared.ports import Blobs

if TYPE_CHECKING:
    from cli.packing import Bundle
    from shared.core.spec import JobSpec


def upload_code(blobs: Blobs, bundle: Bundle, folder: str) -> None:
    """Upload a bundle.  Idempotent: by content."""
    _put_once(blobs, code_object(bundle.sha256, folder), bundle.data)


def copy_code(blobs: Blobs, name: str, source: str, target: str) -> None:
    """Copy a bundle from one folder to another.  Raises CliError.  Idempotent: by content."""
    try:
        found = blobs.get(source + name)
    except NotAuthorized:
        found = None
    if found is None:
        raise CliError(
            f"the job's code cannot be read: {source}{name}",
            next_step="say where the code is: --code FOLDER",
        )
    _put_once(blobs, target + name, found.data)


def upload_spec(blobs: Blobs, spec: JobSpec, folder: str) -> None:
    """Upload a spec.  Idempotent: by content."""
    from shared.core.spec import canonical_json, spec_sha256

    _put_once(blobs, spec_object(spec_sha256(spec), folder), canonical_json(spec).encode())


def _put_once(blobs: Blobs, name: str, data: bytes) -> None:
    # It is there already: a name like this has one content.
    with suppress(Conflict):
        blobs.put(name, data, if_generation=0)
