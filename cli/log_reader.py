"""What the hosts of a job wrote, put together from the chunks they shipped.

A chunk may end in the middle of a line: what is left over waits for the next one of its host.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from shared.core.names import log_prefix
from shared.ports import BlobInfo, Blobs

PARTS = 5
# So many hosts are always asked one by one, and so many names stand on one page of a list.
EACH_MAX = 8
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Chunk:
    """One shipped object."""

    attempt: int
    host: int
    info: BlobInfo


@dataclass(slots=True)
class LogReader:
    """Reads each chunk once; call ``lines`` again for what has come since.

    ``hosts`` is how many there are; 0 where nobody knows. Of chunks only those count that were
    shipped after ``since``. A ``host`` of its own leaves the others out.
    """

    blobs: Blobs
    job: str
    host: int | None = None
    folder: str = ""
    hosts: int = 0
    since: datetime | None = None
    _last: dict[tuple[int, int], str] = field(default_factory=dict)
    _left: dict[tuple[int, int], bytes] = field(default_factory=dict)
    _known: dict[int, int] = field(default_factory=dict)

    def lines(self, attempt: int) -> Iterator[tuple[int, bytes]]:
        """Return the new whole lines of an attempt, each with its host."""
        for chunk in self._new_chunks(attempt):
            blob = self.blobs.get(chunk.info.name)
            self._last[chunk.attempt, chunk.host] = chunk.info.name
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
            for info in self._listed(attempt)
            if (chunk := _parsed(info)) is not None and self._is_new(chunk)
        ]
        return sorted(found, key=lambda chunk: (chunk.info.updated_at, chunk.info.name))

    def _is_new(self, chunk: Chunk) -> bool:
        if self.since is not None and chunk.info.updated_at < self.since:
            return False
        return chunk.info.name > self._last.get((chunk.attempt, chunk.host), "")

    def _listed(self, attempt: int) -> Iterator[BlobInfo]:
        """List everything once, then of each host what comes after its last chunk.

        The whole list of a run of weeks has many pages, and whoever follows looks all the time.
        Every request is paid for: of very many hosts the whole list is cheaper while it is short.
        """
        known = self._known.get(attempt)
        is_dear = known is not None and self.hosts > max(EACH_MAX, known // PAGE)
        if self.host is None and (known is None or not self.hosts or is_dear):
            found = self.blobs.list(log_prefix(self.job, attempt, folder=self.folder))
            self._known[attempt] = len(found)
            yield from found
            return
        self._known.setdefault(attempt, 0)
        for host in self._known_hosts(attempt):
            prefix = log_prefix(self.job, attempt, host, folder=self.folder)
            yield from self.blobs.list(prefix, after=self._last.get((attempt, host), ""))

    def _known_hosts(self, attempt: int) -> Sequence[int]:
        if self.host is not None:
            return (self.host,)
        seen = {host for number, host in self._last if number == attempt}
        return sorted({*range(self.hosts), *seen})

    def _cut(self, chunk: Chunk, data: bytes) -> Iterator[tuple[int, bytes]]:
        key = (chunk.attempt, chunk.host)
        *lines, self._left[key] = (self._left.get(key, b"") + data).split(b"\n")
        for line in lines:
            yield chunk.host, line


def attempts_with_logs(blobs: Blobs, job: str, folder: str = "") -> list[int]:
    """Return the attempts that have written anything."""
    chunks = (_parsed(info) for info in blobs.list(log_prefix(job, folder=folder)))
    return sorted({chunk.attempt for chunk in chunks if chunk is not None})


def newest_with_logs(blobs: Blobs, job: str, folder: str, newest: int) -> int:
    """Return the newest attempt that has written anything, else the newest."""
    for attempt in range(newest, -1, -1):
        if any(map(_parsed, blobs.list(log_prefix(job, attempt, folder=folder)))):
            return attempt
    return max(0, newest)


def _parsed(info: BlobInfo) -> Chunk | None:
    """Take a name apart: ``…logs/<job>/<attempt>/<host>/<chunk>.log``."""
    parts = info.name.split("/")[-PARTS:]
    if len(parts) != PARTS or not (parts[2].isdecimal() and parts[3].isdecimal()):
        return None
    return Chunk(int(parts[2]), int(parts[3]), info)
