"""Objects on disk with Cloud Storage's generations and preconditions.

An object is two files named by the hash of its name, so that any name is safe: its bytes (one
file a generation) and its record (replaced atomically). What a crash leaves half done is
therefore an old object or an unreferenced file, never a torn one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import google_crc32c

from sandbox.errors import SandboxError

_MICROSECONDS = 1_000_000


class ObjectMissingError(SandboxError):
    """There is no such object, or no such bucket."""


class PreconditionFailedError(SandboxError):
    """A generation precondition does not hold (412)."""


class BucketNotEmptyError(SandboxError):
    """A bucket that still holds objects cannot be deleted (409)."""


class NotModifiedError(SandboxError):
    """A read asked only for another generation than the present one (304)."""


class ChecksumMismatchError(SandboxError):
    """The bytes that arrived are not those that the client hashed."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """The record of an object.  ``extra`` is metadata the client set (contentType, …)."""

    name: str
    generation: int
    size: int
    md5: str
    crc32c: str
    created_at: float
    extra: Mapping[str, object] = field(default_factory=dict)
    metageneration: int = 1
    updated_at: float | None = None


@dataclass(frozen=True, slots=True)
class Preconditions:
    """What must be true of the present generation; 0 means that there is none."""

    match: int | None = None
    not_match: int | None = None
    metageneration: int | None = None

    def check(self, present: StoredObject | None, *, is_read: bool = False) -> None:
        """Raise unless they hold."""
        generation = present.generation if present else 0
        if self.match is not None and self.match != generation:
            raise PreconditionFailedError
        if self.not_match is not None and self.not_match == generation:
            raise NotModifiedError if is_read else PreconditionFailedError
        if present and self.metageneration not in {None, present.metageneration}:
            raise PreconditionFailedError


class ObjectStore:
    """All buckets below one directory.  Safe for several threads."""

    def __init__(self, directory: Path, *, clock: Callable[[], float]) -> None:
        self._directory = directory
        self._clock = clock
        self._lock = threading.RLock()
        self._generation = 0
        self._buckets: dict[str, dict[str, StoredObject]] = {}
        self._names: dict[str, list[str]] = {}
        for path in directory.iterdir() if directory.exists() else ():
            self._load(path)

    def buckets(self) -> list[str]:
        """Return the names of all buckets."""
        return sorted(self._buckets)

    def make_bucket(self, bucket: str) -> None:
        """Make a bucket.  Idempotent: by name."""
        with self._lock:
            (self._directory / bucket / "records").mkdir(parents=True, exist_ok=True)
            (self._directory / bucket / "data").mkdir(exist_ok=True)
            self._buckets.setdefault(bucket, {})
            self._names.setdefault(bucket, [])

    def delete_bucket(self, bucket: str) -> None:
        """Delete a bucket.  Raises ObjectMissingError or BucketNotEmptyError."""
        with self._lock:
            if self._bucket(bucket):
                raise BucketNotEmptyError("The bucket you tried to delete is not empty.")
            del self._buckets[bucket], self._names[bucket]
            shutil.rmtree(self._directory / bucket)

    def get(
        self, bucket: str, name: str, preconditions: Preconditions | None = None
    ) -> StoredObject:
        """Return an object's record.  Raises ObjectMissingError."""
        with self._lock:
            present = self._bucket(bucket).get(name)
            if preconditions:
                preconditions.check(present, is_read=present is not None)
            if present is None:
                raise ObjectMissingError(f"No such object: {bucket}/{name}")
            return present

    def read(
        self, bucket: str, name: str, preconditions: Preconditions | None = None
    ) -> tuple[StoredObject, bytes]:
        """Return an object's record and its bytes."""
        with self._lock:
            present = self.get(bucket, name, preconditions)
            return present, self._data_path(bucket, present).read_bytes()

    def put(
        self,
        bucket: str,
        name: str,
        data: bytes,
        *,
        extra: Mapping[str, object],
        preconditions: Preconditions,
    ) -> StoredObject:
        """Write an object, with another generation than any before it."""
        md5, crc32c = _checksums(data)
        if extra.get("md5Hash", md5) != md5 or extra.get("crc32c", crc32c) != crc32c:
            raise ChecksumMismatchError
        with self._lock:
            old = self._bucket(bucket).get(name)
            preconditions.check(old)
            stored = StoredObject(
                name, self._next_generation(), len(data), md5, crc32c, self._clock(), extra
            )
            self._data_path(bucket, stored).write_bytes(data)
            self._write_record(bucket, stored)
            self._buckets[bucket][name] = stored
            if old is None:
                insort(self._names[bucket], name)
            else:
                self._data_path(bucket, old).unlink()
            return stored

    def patch(
        self, bucket: str, name: str, changes: Mapping[str, object], preconditions: Preconditions
    ) -> StoredObject:
        """Change what is said of an object; None takes something back."""
        with self._lock:
            present = self.get(bucket, name)
            preconditions.check(present)
            told = {**present.extra, **changes}
            stored = replace(
                present,
                extra={key: value for key, value in told.items() if value is not None},
                metageneration=present.metageneration + 1,
                updated_at=self._clock(),
            )
            self._write_record(bucket, stored)
            self._buckets[bucket][name] = stored
            return stored

    def delete(self, bucket: str, name: str, preconditions: Preconditions) -> None:
        """Remove an object.  Raises ObjectMissingError."""
        with self._lock:
            present = self.get(bucket, name)
            preconditions.check(present)
            self._record_path(bucket, name).unlink()
            self._data_path(bucket, present).unlink()
            del self._buckets[bucket][name]
            names = self._names[bucket]
            del names[bisect_left(names, name)]

    def list_from(self, bucket: str, prefix: str, start: str) -> list[StoredObject]:
        """Return the objects under a prefix whose names are not before ``start``."""
        with self._lock:
            objects, names = self._bucket(bucket), self._names[bucket]
            first = bisect_left(names, max(prefix, start))
            found = []
            for name in names[first:]:
                if not name.startswith(prefix):
                    break
                found.append(objects[name])
            return found

    def _bucket(self, bucket: str) -> dict[str, StoredObject]:
        if bucket not in self._buckets:
            raise ObjectMissingError("The specified bucket does not exist.")
        return self._buckets[bucket]

    def _next_generation(self) -> int:
        """Return microseconds as Google does, and never the same number twice."""
        self._generation = max(self._generation + 1, int(self._clock() * _MICROSECONDS))
        return self._generation

    def _load(self, path: Path) -> None:
        self.make_bucket(path.name)
        for record in (path / "records").glob("*.json"):
            stored = StoredObject(**json.loads(record.read_text("utf-8")))
            self._buckets[path.name][stored.name] = stored
            self._generation = max(self._generation, stored.generation)
        self._names[path.name] = sorted(self._buckets[path.name])

    def _write_record(self, bucket: str, stored: StoredObject) -> None:
        path = self._record_path(bucket, stored.name)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(stored)), encoding="utf-8")
        Path(draft).replace(path)

    def _record_path(self, bucket: str, name: str) -> Path:
        return self._directory / bucket / "records" / f"{_safe(name)}.json"

    def _data_path(self, bucket: str, stored: StoredObject) -> Path:
        return self._directory / bucket / "data" / f"{_safe(stored.name)}.{stored.generation}"


def _checksums(data: bytes) -> tuple[str, str]:
    """Return the MD5 and the CRC32C of some bytes, encoded as Cloud Storage does."""
    md5 = hashlib.md5(data, usedforsecurity=False).digest()
    crc32c: bytes = google_crc32c.value(data).to_bytes(4, "big")
    return base64.b64encode(md5).decode(), base64.b64encode(crc32c).decode()


def _safe(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
