"""What every Blobs promises: preconditions that hold, reads of one moment, listings in order."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from sandbox import control
from shared.adapters import storage
from shared.errors import Conflict, InvalidRequest, Unavailable
from shared.ports import Blob, Blobs
from tests.fakes import FakeBlobs
from tests.sandboxes import running


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[control.Client]:
    """Run one sandbox for all tests of this file."""
    with running(tmp_path_factory.mktemp("sandbox")) as box:
        yield box.admin


@pytest.fixture(params=["fake", "google"])
def blobs(request: pytest.FixtureRequest) -> Blobs:
    """Give a bucket of every kind; the sandbox's is shared, so names below are unique."""
    if request.param == "fake":
        return FakeBlobs()
    client: control.Client = request.getfixturevalue("sandbox")
    return storage.connect("tpuctl-sandbox", project="sandbox", endpoint=client.url)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Give a name that no other test uses."""
    return f"{request.node.name}/a b+c%é.json"


def read(blobs: Blobs, name: str) -> Blob:
    """Read an object that must be there."""
    found = blobs.get(name)
    assert found is not None
    return found


def test_an_object_that_is_not_there_is_none(blobs: Blobs, name: str) -> None:
    """A missing object is no error."""
    assert blobs.get(name) is None


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 50], ids=["0", "1", "12800"])
def test_an_object_comes_back_as_it_was_written(blobs: Blobs, name: str, data: bytes) -> None:
    """Bytes, name and the generation that put returned."""
    generation = blobs.put(name, data)

    found = read(blobs, name)

    assert (name, data, generation) == (found.name, found.data, found.generation)
    assert timedelta(0) == found.updated_at.utcoffset()


def test_a_large_object_comes_back(blobs: Blobs, name: str) -> None:
    """Beyond the size at which the client uploads in parts."""
    data = bytes(range(256)) * (9 * 2**20 // 256)

    blobs.put(name, data, if_generation=0)

    assert data == read(blobs, name).data


def test_create_only_creates(blobs: Blobs, name: str) -> None:
    """Generation 0 means that it must not exist."""
    blobs.put(name, b"first", if_generation=0)

    with pytest.raises(Conflict):
        blobs.put(name, b"second", if_generation=0)

    assert b"first" == read(blobs, name).data


def test_a_replacement_needs_the_generation_that_was_read(blobs: Blobs, name: str) -> None:
    """It holds once."""
    first = blobs.put(name, b"1")
    second = blobs.put(name, b"2", if_generation=first)

    with pytest.raises(Conflict):
        blobs.put(name, b"3", if_generation=first)

    assert first != second
    assert (b"2", second) == (read(blobs, name).data, read(blobs, name).generation)


def test_a_replacement_of_nothing_is_a_conflict(blobs: Blobs, name: str) -> None:
    """What was deleted is not re-created."""
    with pytest.raises(Conflict):
        blobs.put(name, b"x", if_generation=12345)

    assert blobs.get(name) is None


def test_a_write_without_a_precondition_always_succeeds(blobs: Blobs, name: str) -> None:
    """The last one wins, and every write is a new generation."""
    generations = {blobs.put(name, b"%d" % number) for number in range(3)}

    assert 3 == len(generations)
    assert b"2" == read(blobs, name).data


def test_of_eight_writers_with_one_generation_one_succeeds(blobs: Blobs, name: str) -> None:
    """Compare-and-set, by threads."""
    generation, won = blobs.put(name, b"0"), []

    def write(number: int) -> None:
        try:
            won.append(blobs.put(name, b"%d" % number, if_generation=generation))
        except Conflict:
            return

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [read(blobs, name).generation] == won


def test_a_listing_is_ordered_and_under_its_prefix(blobs: Blobs, name: str) -> None:
    """By name, folders below included, neighbours not."""
    for tail in ("b", "a/1", "a", "c"):
        blobs.put(f"{name}/{tail}", tail.encode())
    blobs.put(f"{name}x", b"")

    found = blobs.list(f"{name}/")

    assert [f"{name}/{tail}" for tail in ("a", "a/1", "b", "c")] == [info.name for info in found]
    assert [1, 3, 1, 1] == [info.size for info in found]
    assert read(blobs, f"{name}/b").generation == found[2].generation
    assert read(blobs, f"{name}/b").updated_at == found[2].updated_at


def test_a_listing_goes_on_after_a_name(blobs: Blobs, name: str) -> None:
    """The name itself is not repeated, and need not exist."""
    for number in range(4):
        blobs.put(f"{name}/{number}", b"")

    after_one = [info.name[-1] for info in blobs.list(f"{name}/", after=f"{name}/1")]
    after_gap = [info.name[-1] for info in blobs.list(f"{name}/", after=f"{name}/1x")]

    assert ["2", "3"] == after_one == after_gap


def test_a_listing_of_nothing_is_empty(blobs: Blobs, name: str) -> None:
    """No error."""
    assert [] == blobs.list(name)


def test_a_bucket_that_does_not_exist_is_a_mistake(sandbox: control.Client) -> None:
    """It will not appear by trying again."""
    blobs = storage.connect("no-such-bucket", project="sandbox", endpoint=sandbox.url)

    with pytest.raises(InvalidRequest):
        blobs.put("x", b"")


def test_no_answer_is_unavailable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody listens; it is tried again for a while, which is cut short here."""
    monkeypatch.setattr(storage, "RETRY", storage.RETRY.with_timeout(0.2))
    with running(tmp_path) as box:
        url = box.url
    blobs = storage.connect("tpuctl-sandbox", project="sandbox", endpoint=url)

    with pytest.raises(Unavailable):
        blobs.get("x")
