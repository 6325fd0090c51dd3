"""Objects on disk: generations, preconditions, and what is left after a crash."""

from pathlib import Path

import pytest

from sandbox.objects import (
    ChecksumMismatchError,
    NotModifiedError,
    ObjectMissingError,
    ObjectStore,
    PreconditionFailedError,
    Preconditions,
    StoredObject,
)


def open_store(path: Path) -> ObjectStore:
    """Open a store whose clock stands still."""
    store = ObjectStore(path, clock=lambda: 1.0)
    store.make_bucket("b")
    return store


def put(store: ObjectStore, name: str, data: bytes, match: int | None = None) -> StoredObject:
    """Write an object."""
    return store.put("b", name, data, extra={}, preconditions=Preconditions(match))


def test_objects_survive_a_restart(tmp_path: Path) -> None:
    """With their generations, and later ones are others although the clock stands still."""
    stored = put(open_store(tmp_path), "../odd/ü", b"x")

    again = open_store(tmp_path)

    assert (stored, b"x") == again.read("b", "../odd/ü")
    assert stored.generation < put(again, "other", b"y").generation


def test_half_written_object_is_not_there(tmp_path: Path) -> None:
    """Bytes without a record are garbage; a record comes last and at once."""
    put(open_store(tmp_path), "whole", b"x")
    (tmp_path / "b" / "data" / "torn.1").write_bytes(b"half")
    (tmp_path / "b" / "records" / "torn.draft").write_bytes(b"{")

    found = open_store(tmp_path).list_from("b", "", "")

    assert ["whole"] == [stored.name for stored in found]


def test_replaced_and_deleted_bytes_leave_the_disk(tmp_path: Path) -> None:
    """Only the present generation takes space."""
    store = open_store(tmp_path)
    put(store, "a", b"1")
    put(store, "a", b"2")
    assert 1 == len(list((tmp_path / "b" / "data").iterdir()))

    store.delete("b", "a", Preconditions())

    assert [] == list((tmp_path / "b" / "data").iterdir())
    assert [] == store.list_from("b", "", "")


def test_write_needs_the_generation_it_names(tmp_path: Path) -> None:
    """0 means that there must be none."""
    store = open_store(tmp_path)
    first = put(store, "a", b"1", match=0)

    for generation in (0, first.generation + 1):
        with pytest.raises(PreconditionFailedError):
            put(store, "a", b"2", match=generation)

    put(store, "a", b"3", match=first.generation)


def test_read_of_the_known_generation_is_not_modified(tmp_path: Path) -> None:
    """A write with the same precondition fails instead."""
    store = open_store(tmp_path)
    known = Preconditions(not_match=put(store, "a", b"1").generation)

    with pytest.raises(NotModifiedError):
        store.get("b", "a", known)
    with pytest.raises(PreconditionFailedError):
        store.delete("b", "a", known)


def test_wrong_checksum_is_refused(tmp_path: Path) -> None:
    """And nothing is written."""
    store = open_store(tmp_path)

    with pytest.raises(ChecksumMismatchError):
        store.put("b", "a", b"x", extra={"crc32c": "AAAAAA=="}, preconditions=Preconditions())

    with pytest.raises(ObjectMissingError):
        store.get("b", "a")


def test_unknown_bucket_is_missing(tmp_path: Path) -> None:
    """Nothing is made by being asked for."""
    with pytest.raises(ObjectMissingError, match="bucket"):
        open_store(tmp_path).list_from("nobody", "", "")
