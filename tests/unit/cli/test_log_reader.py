"""How chunks are read: side by side, from the newest backwards, and no more than is needed."""

from collections.abc import Sequence
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_mock import MockerFixture

from cli.installation import READERS
from cli.log_reader import AHEAD, Line, LogReader
from shared.errors import Unavailable
from shared.ports import Blob
from tests.fakes import FakeBlobs, FakeClock
from tests.unit.cli.stage import PATIENCE_S

JOB = "j00000000004"
# Of a host, what it wrote, and whether time went by since the chunk before.
Shipped = Sequence[tuple[int, bytes, bool]]
SHIPPED = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.lists(st.sampled_from([b"a", b"b", b"\n"]), max_size=5).map(b"".join),
        st.booleans(),
    ),
    max_size=40,
)


class Bucket(FakeBlobs):
    """Chunks of one attempt, shipped one after the other."""

    def __init__(self, chunks: Shipped = ()) -> None:
        self.clock = FakeClock()
        super().__init__(self.clock)
        self._numbers = [0, 0, 0]
        self.ship(chunks)

    def ship(self, chunks: Shipped) -> None:
        """Have more."""
        for host, data, is_later in chunks:
            self.clock.advance(is_later)
            self.put(f"logs/{JOB}/0/{host}/{self._numbers[host]:06d}.log", data)
            self._numbers[host] += 1

    def reader(self) -> LogReader:
        """Read them from the beginning."""
        return LogReader(self, JOB, hosts=3)


def everything(reader: LogReader, tail: int | None = None) -> list[Line]:
    """Return the new lines, the last ones too."""
    return [*reader.lines(0, tail), *reader.rest()]


def last(lines: Sequence[Line], count: int) -> list[Line]:
    """Return so many lines from the end."""
    return list(lines[max(0, len(lines) - count) :])


@given(SHIPPED, st.integers(0, 12))
def test_the_last_lines_are_those_that_end_the_whole(chunks: Shipped, tail: int) -> None:
    """In its order, wherever lines begin and end."""
    bucket = Bucket(chunks)

    assert last(everything(bucket.reader()), tail) == last(everything(bucket.reader(), tail), tail)


@given(SHIPPED, SHIPPED, st.integers(0, 3))
def test_what_comes_after_the_last_lines_is_whole(
    before: Shipped, after: Shipped, tail: int
) -> None:
    """A line may have begun long before, in a chunk that no wanted line needs."""
    bucket = Bucket(before)
    all_of_it, end_of_it = bucket.reader(), bucket.reader()
    first, then = list(all_of_it.lines(0)), list(end_of_it.lines(0, tail))
    assert last(first, tail) == last(then, tail)
    bucket.ship(after)

    assert everything(all_of_it) == everything(end_of_it)


@given(SHIPPED, st.none() | st.integers(0, 5))
def test_host_by_host_every_host_has_its_last_lines(chunks: Shipped, tail: int | None) -> None:
    """Each as if it were alone."""
    bucket = Bucket(chunks)
    whole = everything(bucket.reader())
    hosts = sorted({host for host, *_ in chunks})
    count = len(whole) if tail is None else tail

    assert [last([line for line in whole if line[0] == host], count) for host in hosts] == [
        last(list(lines), count) for lines in bucket.reader().by_host(0, tail)
    ]


@pytest.mark.parametrize(
    "tail, reads",
    [
        pytest.param(0, 3, id="how the next lines begin"),
        pytest.param(1, 1 + 3, id="one chunk, and how its lines begin"),
        pytest.param(5, 1 + 2 + 4 + 3, id="twice as many each time"),
        pytest.param(None, 300, id="all"),
    ],
)
def test_of_last_lines_only_as_many_chunks_are_read_as_they_need(
    mocker: MockerFixture, tail: int | None, reads: int
) -> None:
    """A run of weeks has a hundred thousand."""
    bucket = Bucket([(number % 3, b"x\n", True) for number in range(300)])
    read = mocker.spy(bucket, "get")

    list(bucket.reader().lines(0, tail))

    assert reads == read.call_count


def test_host_by_host_one_line_end_more_is_read(mocker: MockerFixture) -> None:
    """It says where the first of the last lines begins."""
    bucket = Bucket([(number % 3, b"x\n", True) for number in range(300)])
    read = mocker.spy(bucket, "get")

    list(map(list, bucket.reader().by_host(0, 2)))

    assert 3 * (1 + 2) == read.call_count


@pytest.mark.parametrize(
    "tail, alone",
    [
        pytest.param(None, 0, id="all"),
        pytest.param(1000, 1 + 2 + 4 + 8, id="backwards, after the first short steps"),
    ],
)
def test_chunks_are_read_side_by_side(mocker: MockerFixture, tail: int | None, alone: int) -> None:
    """As many at once as there are readers: each waits for the others."""
    count = alone + 3 * READERS
    bucket = Bucket([(0, b"%d\n" % number, True) for number in range(count)])
    together = Barrier(READERS, timeout=PATIENCE_S)
    get = bucket.get

    def wait(name: str) -> Blob | None:
        if int(Path(name).stem) < count - alone:
            together.wait()
        return get(name)

    mocker.patch.object(bucket, "get", wait)

    assert [(0, b"%d" % number) for number in range(count)] == everything(bucket.reader(), tail)


def test_the_last_lines_of_several_hosts_are_read_side_by_side(mocker: MockerFixture) -> None:
    """Host by host they are printed, not read."""
    bucket = Bucket([(host, b"%d\n" % host, True) for host in range(3)])
    together, get = Barrier(3, timeout=PATIENCE_S), bucket.get

    def wait(name: str) -> Blob | None:
        together.wait()
        return get(name)

    mocker.patch.object(bucket, "get", wait)

    assert [[(0, b"0")], [(1, b"1")], [(2, b"2")]] == list(map(list, bucket.reader().by_host(0, 1)))


def test_only_so_many_chunks_are_read_before_their_lines_are_taken(mocker: MockerFixture) -> None:
    """Memory does not grow with the run."""
    bucket = Bucket([(0, b"x\n", True) for _ in range(10 * AHEAD)])
    read = mocker.spy(bucket, "get")

    lines = bucket.reader().lines(0)
    assert (0, b"x") == next(lines)
    # What was asked for by now is read or given up when nobody takes lines any more.
    del lines

    assert AHEAD >= read.call_count


def test_a_chunk_that_cannot_be_read_ends_it_after_the_lines_before(mocker: MockerFixture) -> None:
    """Nothing is left out in silence."""
    bucket = Bucket([(0, b"%d\n" % number, True) for number in range(3)])
    get = bucket.get

    def fail(name: str) -> Blob | None:
        if name.endswith("1.log"):
            raise Unavailable("no answer")
        return get(name)

    mocker.patch.object(bucket, "get", fail)
    lines = bucket.reader().lines(0)

    assert (0, b"0") == next(lines)
    with pytest.raises(Unavailable):
        next(lines)


def test_bytes_are_kept_as_they_were_written() -> None:
    """A program may write anything."""
    blobs = FakeBlobs()
    blobs.put(f"logs/{JOB}/0/0/000000.log", b"bytes \xff stay\nno end")
    reader = LogReader(blobs, JOB)

    assert [(0, b"bytes \xff stay")] == list(reader.lines(0))
    assert [] == list(reader.lines(0))
    assert [(0, b"no end")] == list(reader.rest())


def test_following_lists_only_what_comes_after_the_last_chunk(mocker: MockerFixture) -> None:
    """A run of weeks has a hundred thousand chunks, and whoever follows looks all the time."""
    blobs = FakeBlobs()
    folder = f"logs/{JOB}/0"
    for number in range(20):
        blobs.put(f"{folder}/0/{number:06d}.log", b"x\n")
    reader = LogReader(blobs, JOB, hosts=2)
    assert 20 == len(list(reader.lines(0)))
    listed = mocker.spy(blobs, "list")
    blobs.put(f"{folder}/0/000020.log", b"y\n")
    blobs.put(f"{folder}/1/000000.log", b"z\n")

    assert [(0, b"y"), (1, b"z")] == list(reader.lines(0))
    assert [
        ((f"{folder}/0/",), {"after": f"{folder}/0/000019.log"}),
        ((f"{folder}/1/",), {"after": ""}),
    ] == [(call.args, call.kwargs) for call in listed.call_args_list]


@pytest.mark.parametrize("chunks, lists", [(1, 1), (9000, 9)], ids=["short", "long"])
def test_of_very_many_hosts_the_cheaper_list_is_read(
    mocker: MockerFixture, chunks: int, lists: int
) -> None:
    """One request for a page, or one for each host."""
    blobs = FakeBlobs()
    for number in range(chunks):
        blobs.put(f"logs/{JOB}/0/0/{number:06d}.log", b"")
    reader = LogReader(blobs, JOB, hosts=9)
    list(reader.lines(0))
    listed = mocker.spy(blobs, "list")
    blobs.put(f"logs/{JOB}/0/8/000000.log", b"new\n")

    assert [(8, b"new")] == list(reader.lines(0))
    assert lists == listed.call_count
