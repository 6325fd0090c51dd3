"""What every Store refuses: one set of rules, so that no wiring takes what another one drops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.adapters.sqlite_codec import encode
from shared.errors import InvalidRequest
from shared.ports import COMMIT_WRITES_MAX, DOCUMENT_BYTES_MAX, Delete, Guard

if TYPE_CHECKING:
    from shared.ports import Write

_SEGMENT_BYTES_MAX: Final = 1500  # Firestore's limit for an id


@dataclass(frozen=True, slots=True)
class Prepared:
    """A write whose path was checked; ``text`` is its fields as JSON, empty for the others."""

    write: Write
    collection: str
    text: str


def prepare(writes: Sequence[Write]) -> list[Prepared]:
    """Check a commit before anything is sent or locked.  Raises InvalidRequest."""
    if len(writes) > COMMIT_WRITES_MAX:
        raise InvalidRequest(f"a commit has {len(writes)} writes, more than {COMMIT_WRITES_MAX}")
    paths = [write.path for write in writes]
    if len(set(paths)) < len(paths):
        raise InvalidRequest(f"a commit writes one document twice: {sorted(paths)}")
    return [Prepared(write, collection_of(write.path), _text_of(write)) for write in writes]


def collection_of(path: str) -> str:
    """Return the collection of a document path; refuse what Firestore would refuse."""
    segments = path.split("/")
    fit = all(
        segment not in ("", ".", "..") and len(segment.encode()) <= _SEGMENT_BYTES_MAX
        for segment in segments
    )
    if len(segments) % 2 or not fit or "\0" in path:
        raise InvalidRequest(f"{path!r} is no path of a document")
    return path.rpartition("/")[0]


def conflict_text(write: Write, *, is_create: bool) -> str:
    """Say why a precondition does not hold."""
    if is_create:
        return f"{write.path} exists already"
    return f"{write.path} changed, or is gone, since it was read"


def _text_of(write: Write) -> str:
    if isinstance(write, (Guard, Delete)):
        return ""
    text = encode(write.fields)
    size = len(write.path.encode()) + len(text.encode())
    if size > DOCUMENT_BYTES_MAX:
        raise InvalidRequest(
            f"the document {write.path} has {size} bytes, more than {DOCUMENT_BYTES_MAX}"
        )
    return text
