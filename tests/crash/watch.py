"""Watches over every commit, delete and write of a world: what must never be done, isn't."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from shared.core.names import parse_cloud_name
from shared.core.stages import TERMINAL
from shared.ports import Blob, BlobInfo, Blobs, Create, Document, Fields, Query, Replace, Store
from shared.ports import Write as StoreWrite
from tests.fake_slices import FakeSliceApi

# The only place in the bucket that the control plane writes to: checkpoints are the workload's.
CONTROL = "control/"
OURS = "abc123"


@dataclass(slots=True)
class Watch:
    """What was done that must never be done: whoever does it may catch what is raised."""

    violations: list[str] = field(default_factory=list)

    @contextmanager
    def judging(self) -> Iterator[None]:
        """Keep what is found to be wrong."""
        try:
            yield
        except AssertionError as error:
            self.violations.append(str(error))
            raise


@dataclass(frozen=True, slots=True)
class WatchedStore:
    """A Store that checks each change of a job and a slice against what was there."""

    store: Store
    watch: Watch

    def get(self, path: str) -> Document | None:
        """Read."""
        return self.store.get(path)

    def query(self, query: Query) -> list[Document]:
        """Read many."""
        return self.store.query(query)

    def commit(self, writes: Sequence[StoreWrite]) -> None:
        """Write; then hold what changed against what was there before."""
        changes = [
            (write, self.store.get(write.path)) for write in writes if isinstance(write, Replace)
        ]
        self.store.commit(writes)
        made = [write.path for write in writes if isinstance(write, Create)]
        with self.watch.judging():
            for write, old in changes:
                assert old is not None, "what was replaced was there"
                _check(write, old.fields, made)


def _check(write: Replace, old: Fields, made: Sequence[str]) -> None:
    new, path = write.fields, write.path
    if path.startswith("jobs/") and "stage" in new:
        _check_job(path, old, new, made)
    if path.startswith("slices/") and "generation" in new and old.get("uid") == new.get("uid"):
        _check_step(path, "generation", old, new)


def _check_job(path: str, old: Fields, new: Fields, made: Sequence[str]) -> None:
    """Stages are left with a reason, terminal ones by an order alone; attempts grow by one."""
    _check_step(path, "attempt", old, new)
    if new["stage"] == old["stage"]:
        return
    told = [each for each in made if each.startswith(f"{path}/timeline/")]
    assert told, f"{path}: {old['stage']} → {new['stage']} and nothing said"
    if old["stage"] in set(TERMINAL):
        orders = [each for each in made if each.startswith("commands/")]
        assert orders, f"{path}: {old['stage']} → {new['stage']} and nobody ordered it"


def _check_step(path: str, key: str, old: Fields, new: Fields) -> None:
    before, after = old[key], new[key]
    assert isinstance(before, int), f"{key} is a number"
    assert after in {before, before + 1}, f"{path}: {key} went from {before} to {after}"


class WatchedSlices:
    """A cloud in which nothing is deleted that serves, or that is not ours."""

    def __init__(self, slices: FakeSliceApi, store: Store, watch: Watch) -> None:
        self._slices, self._store, self._watch = slices, store, watch

    def __getattr__(self, method: str) -> Any:
        """Do what the cloud does."""
        return getattr(self._slices, method)

    def delete(self, zone: str, name: str) -> None:
        """Delete what may be deleted."""
        with self._watch.judging():
            parsed = parse_cloud_name(name)
            assert parsed is not None, f"{name} is no name of ours"
            assert parsed[0] == OURS, f"{name} is another installation's"
            for document in self._store.query(Query("slices", limit=1000)):
                assert not _is_serving(document.fields, name), f"{name} is wanted, and was deleted"
        self._slices.delete(zone, name)

    def remove(self, zone: str, node: str, uid: str) -> None:
        """Delete what others made, where its slice says that it may go."""
        with self._watch.judging():
            for document in self._store.query(Query("slices", limit=1000)):
                is_its = node in _names(document.fields)
                assert not is_its or document.fields["disposable"], f"{node} is not disposable"
                assert not _is_serving(document.fields, node), f"{node} is wanted, and was deleted"
        self._slices.remove(zone, node, uid)


def _names(fields: Any) -> set[str]:
    return {bid["name"] for generation in fields["generations"] for bid in generation["bids"]}


def _is_serving(fields: Any, name: str) -> bool:
    """A slice has this bid, and did not decide that it goes."""
    bids = [bid for generation in fields["generations"] for bid in generation["bids"]]
    return any(bid["name"] == name and bid["condemned_at"] is None for bid in bids)


@dataclass(frozen=True, slots=True)
class WatchedBlobs:
    """A bucket in which nothing of the workloads is written."""

    blobs: Blobs
    watch: Watch

    def get(self, name: str) -> Blob | None:
        """Read."""
        return self.blobs.get(name)

    def put(self, name: str, data: bytes, *, if_generation: int | None = None) -> int:
        """Write one of our own objects."""
        with self.watch.judging():
            assert name.startswith(CONTROL), f"{name} is not ours to write"
        return self.blobs.put(name, data, if_generation=if_generation)

    def list(self, prefix: str, *, after: str = "") -> list[BlobInfo]:
        """List."""
        return self.blobs.list(prefix, after=after)
