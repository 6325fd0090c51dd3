"""What the hosts of a job wrote, put together from the chunks they shipped.

A chunk may end in the middle of a line: what is left over waits for the next one of its host.
Chunks are read side by side, and where only the last lines are wanted, from the newest backwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby, islice
from typing import Final

from cli.installation import READERS
from shared.core.names import log_prefix
from shared.ports import BlobInfo, Blobs

PARTS = 5
# So many hosts are always asked one by one, and so many names stand on one page of a list.
EACH_MAX = 8
PAGE = 1000
# So many chunks are read, or asked for, while their lines wait to be wanted.
AHEAD: Final = 32

Line = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Chunk:
    """One shipped object."""

    attempt: int
    host: int
    info: BlobInfo


Read = tuple[Chunk, bytes]


@dataclass(slots=True)
class _Pile:
    """Chunks of which the newest are read first; so many lines end in what was read."""

    unread: list[Chunk]
    read: list[Read] = field(default_factory=list)
    ends: int = 0

    def take(self, most: int) -> list[Chunk]:
        """Take the newest away, newest first."""
        return [self.unread.pop() for _ in range(min(most, len(self.unread)))]

    def add(self, read: Read) -> None:
        """Keep what was read."""
        self.read.append(read)
        self.ends += read[1].count(b"\n")

    def give(self) -> Iterator[Read]:
        """Give away what was read, oldest first, and keep nothing of it."""
        while self.read:
            yield self.read.pop()


@dataclass(slots=True)
class LogReader:
    """Reads each chunk once; call ``lines`` again for what has come since.

    ``hosts`` is how many there are; 0 where nobody knows. Of chunks only those count that were
    shipped after ``since``. A ``host`` of its own leaves the others out. ``bytes_seen`` is how
    much has come, read or not.
    """

    blobs: Blobs
    job: str
    host: int | None = None
    folder: str = ""
    hosts: int = 0
    since: datetime | None = None
    bytes_seen: int = 0
    _last: dict[tuple[int, int], str] = field(default_factory=dict)
    _left: dict[tuple[int, int], bytes] = field(default_factory=dict)
    _known: dict[int, int] = field(default_factory=dict)

    def lines(self, attempt: int, tail: int | None = None) -> Iterator[Line]:
        """Return the new whole lines of an attempt, each with its host.

        With a ``tail`` at least the last so many, and of older chunks only what they need.
        """
        chunks = self._new_chunks(attempt)
        return self._cut(self._ahead(chunks) if tail is None else self._newest(chunks, tail))

    def by_host(self, attempt: int, tail: int | None = None) -> Iterator[Iterator[Line]]:
        """Return what each host wrote, one host after the other, the rest of each with it.

        With a ``tail`` at least the last so many lines of each. Take all of one before the next.
        """
        chunks = sorted(self._new_chunks(attempt), key=_host)
        read = self._ahead(chunks) if tail is None else self._newest_of_each(chunks, tail)
        for _, of_host in groupby(read, key=lambda each: each[0].host):
            yield chain(self._cut(of_host), self.rest())

    def rest(self) -> Iterator[Line]:
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
        found.sort(key=lambda chunk: (chunk.info.updated_at, chunk.info.name))
        for chunk in found:
            self._last[chunk.attempt, chunk.host] = chunk.info.name
            self.bytes_seen += chunk.info.size
        return found

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

    def _newest(self, chunks: list[Chunk], tail: int) -> Iterator[Read]:
        """Read back as far as the last lines need; of each host also how the first one begins."""
        pile = _Pile(chunks)
        self._read_back([pile], tail)
        older = sorted(pile.unread, key=_host)
        begun = [_Pile(list(of_host)) for _, of_host in groupby(older, key=_host)]
        self._read_back(begun, 1)
        for _ in self._cut(chain.from_iterable(each.give() for each in begun)):
            pass
        return pile.give()

    def _newest_of_each(self, chunks: Sequence[Chunk], tail: int) -> Iterator[Read]:
        """Read back as far as the last lines of each host need; several hosts at a time."""
        hosts = (_Pile(list(of_host)) for _, of_host in groupby(chunks, key=_host))
        while piles := list(islice(hosts, AHEAD)):
            # With one line end more the first of them is whole.
            self._read_back(piles, tail + 1)
            for pile in piles:
                yield from pile.give()

    def _read_back(self, piles: Sequence[_Pile], ends: int) -> None:
        """Read chunks of each pile until so many lines end in them, or none is left.

        Nobody knows how many lines a chunk has: each time twice as many are read.
        """
        share = 1
        while short := [pile for pile in piles if pile.unread and pile.ends < ends]:
            taken = [(pile, chunk) for pile in short for chunk in pile.take(share)]
            read = self._ahead(chunk for _, chunk in taken)
            for (pile, _), each in zip(taken, read, strict=True):
                pile.add(each)
            share = min(2 * share, max(1, AHEAD // len(short)))

    def _ahead(self, chunks: Iterable[Chunk]) -> Iterator[Read]:
        """Read chunks side by side, but only so many ahead of whoever takes them; in order."""
        left = iter(chunks)
        readers = ThreadPoolExecutor(READERS)
        try:
            asked = deque((each, readers.submit(self._data, each)) for each in islice(left, AHEAD))
            while asked:
                chunk, data = asked.popleft()
                yield chunk, data.result()
                asked.extend((each, readers.submit(self._data, each)) for each in islice(left, 1))
        finally:
            readers.shutdown(cancel_futures=True)

    def _data(self, chunk: Chunk) -> bytes:
        blob = self.blobs.get(chunk.info.name)
        return b"" if blob is None else blob.data

    def _cut(self, read: Iterable[Read]) -> Iterator[Line]:
        for chunk, data in read:
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


def _host(chunk: Chunk) -> int:
    return chunk.host


def _parsed(info: BlobInfo) -> Chunk | None:
    """Take a name apart: ``…logs/<job>/<attempt>/<host>/<chunk>.log``."""
    parts = info.name.split("/")[-PARTS:]
    if len(parts) != PARTS or not (parts[2].isdecimal() and parts[3].isdecimal()):
        return None
    return Chunk(int(parts[2]), int(parts[3]), info)
