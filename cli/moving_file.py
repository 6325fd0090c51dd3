"""The file in which an installation moves: a header, a line a document, a checksum.

Every line is JSON, the documents in the form that the state file has. The file holds the key
that signs agents' tokens: only its owner may read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Final

from cli.errors import CliError
from shared.adapters.sqlite_codec import decode, encode
from shared.ports import Document, Fields

FORMAT: Final = "tpuctl-box"
VERSION: Final = 1
_EXPORT_AGAIN: Final = "export the box once more, and copy the whole file"


@dataclass(frozen=True, slots=True)
class Header:
    """Whose documents these are; ``secret`` is written as ``$TPUCTL_SECRET`` holds it."""

    installation: str
    project: str
    prefix: str
    bucket: str
    secret: str
    exported_at: str
    format: str = FORMAT
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Moved:
    """A file that was read to its end; ``checksum`` is its name among files."""

    header: Header
    documents: Mapping[str, Fields]
    checksum: str


def write(path: Path, header: Header, documents: Iterable[Document]) -> dict[str, int]:
    """Write a new file and count the documents by collection.  Raises CliError, OSError.

    A file that could not be finished is removed.
    """
    try:
        number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise CliError(f"{path} is there already", next_step="name another file") from None
    try:
        with os.fdopen(number, "wb") as file:
            return _write(file, header, documents)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def read(path: Path) -> Moved:
    """Read a whole file.  Raises CliError for one that is cut off, damaged or something else."""
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise CliError(
            f"{path} cannot be read: {error.strerror}", next_step="tpuctl box export FILE makes one"
        ) from None
    header = _header(path, lines[0] if lines else b"")
    end, body = _object(lines[-1]), lines[1:-1]
    if set(end) != {"documents", "sha256"} or end["documents"] != len(body):
        raise CliError(
            f"{path} is cut off after {max(0, len(lines) - 1)} documents", next_step=_EXPORT_AGAIN
        )
    checksum = sha256(b"".join(lines[:-1])).hexdigest()
    if end["sha256"] != checksum:
        raise CliError(f"{path} is damaged: its checksum is wrong", next_step=_EXPORT_AGAIN)
    return Moved(header, dict(_document(line) for line in body), checksum)


def _write(file: IO[bytes], header: Header, documents: Iterable[Document]) -> dict[str, int]:
    digest, counts, total = sha256(), dict[str, int](), 0

    def put(line: str) -> None:
        data = f"{line}\n".encode()
        digest.update(data)
        file.write(data)

    put(json.dumps(asdict(header)))
    for document in documents:
        # What was encoded by itself may be nested as deep as a document may be.
        put(f'{{"path":{json.dumps(document.path)},"fields":{encode(document.fields)}}}')
        name = document.path.split("/")[-2]
        counts[name] = counts.get(name, 0) + 1
        total += 1
    put(json.dumps({"documents": total, "sha256": digest.hexdigest()}))
    file.flush()
    os.fsync(file.fileno())
    return counts


def _header(path: Path, line: bytes) -> Header:
    found = _object(line)
    if found.get("format") != FORMAT:
        raise CliError(
            f"{path} was not written by tpuctl box export",
            next_step="tpuctl box export FILE makes one",
        )
    if found.get("version") != VERSION:
        raise CliError(
            f"{path} has version {found.get('version')}, this tpuctl reads {VERSION}",
            next_step="upgrade tpuctl here",
        )
    known = {field.name for field in fields(Header)}
    if set(found) != known:
        raise CliError(f"{path} is damaged: its header is not whole", next_step=_EXPORT_AGAIN)
    return Header(**found)


def _object(line: bytes) -> dict[str, Any]:
    """Read a line that should be an object; one that is none has nothing in it."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _document(line: bytes) -> tuple[str, Fields]:
    """Read one document; the checksum has said that it is as it was written."""
    found = decode(line.decode())
    path, document = found["path"], found["fields"]
    assert isinstance(path, str), "a document has a path"
    assert isinstance(document, Mapping), "a document has fields"
    return path, document
