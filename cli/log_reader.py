"""What the hosts of a job wrote, put together from the chunks they shipped.

A chunk may end in the middle of a line: what is left over waits for the next one of its host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from shared.core.names import log_prefix
from shared.ports import BlobInfo, Blobs

PARTS = 5


@dataclass(frozen=True, slots=True)
class Chunk:
    """One shipped object."""

    attempt: int
    host: int
    info: BlobInfo


@dataclass(slots=True)
class LogReader:
    """Reads each chunk once; call ``lines`` again for what has come since."""

    blobs: Blobs
    job: str
    host: int | None = None
    folder: str = ""
    _seen: set[str] = field(default_factory=set)
    _left: dict[tuple[int, int], bytes] = field(default_factory=dict)

    def lines(self, attempt: int) -> Iterator[tuple[int, bytes]]:
        """Return the new whole lines of an attempt, each with its host."""
        for chunk in self._new_chunks(attempt):
            blob = self.blobs.get(chunk.info.name)
            self._seen.add(chunk.info.name)
            if blob is not None:
                yield from self._cut(chunk, blob.data)

    def rest(self) -> Iterator[tuple[int, bytes]]:
        """Return what the last lines were, when no more is to come."""
        for (_, host), line in sorted(self._left.items()):
            if line:
                yield host, line
        self._left.clear()

    def _new_chunks(self, attempt: int) -> list[Chunk]:
        """List what has come; in the order in which it was shipped, each host's in its own."""
        found = [
            chunk
            for info in self.blobs.list(self._prefix(attempt))
            if info.name not in self._seen and (chunk := _parsed(info)) is not None
        ]
        return sorted(found, key=lambda chunk: (chunk.info.updated_at, chunk.info.name))

    def _prefix(self, attempt: int) -> str:
        return log_prefix(self.job, attempt, self.host, folder=self.folder)

    def _cut(self, chunk: Chunk, data: bytes) -> Iterator[tuple[int, bytes]]:
        key = (chunk.attempt, chunk.host)
        *lines, self._left[key] = (self._left.get(key, b"") + data).split(b"\n")
        for line in lines:
            yield chunk.host, line


def attempts_with_logs(blobs: Blobs, job: str, folder: str = "") -> list[int]:
    """Return the attempts that have written anything."""
    chunks = (_parsed(info) for info in blobs.list(log_prefix(job, folder=folder)))
    return sorted({chunk.attempt for chunk in chunks if chunk is not None})


def _parsed(info: BlobInfo) -> Chunk | None:
    """Take a name apart: ``…logs/<job>/<attempt>/<host>/<chunk>.log``."""
    parts = info.name.split("/")[-PARTS:]
    if len(parts) != PARTS or not (parts[2].isdecimal() and parts[3].isdecimal()):
        return None
    return Chunk(int(parts[2]), int(parts[3]), info)
