"""Code bundles, log chunks, checkpoints and records."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.host import agent
from tests.unit.host.states import exited, running


def _bundle(path: Path, *members: tarfile.TarInfo, content: bytes = b"x") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for member in members:
            member.size = len(content) if member.isfile() else 0
            archive.addfile(member, io.BytesIO(content) if member.isfile() else None)
    return path


def _member(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644
) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.mode = kind, link, mode
    return member


def test_a_bundle_is_unpacked_with_its_links_and_executable_bits(tmp_path: Path) -> None:
    """And with no other mode, owner or time of the machine that packed it."""
    bundle = _bundle(
        tmp_path / "b",
        _member("package", tarfile.DIRTYPE),
        _member("package/tool", mode=0o6777),
        _member("train.py"),
        _member("package/link", tarfile.SYMTYPE, "../train.py"),
        _member("hard", tarfile.LNKTYPE, "train.py"),
    )

    agent.unpack(bundle, tmp_path / "out")

    assert b"x" == (tmp_path / "out/package/link").read_bytes()
    assert b"x" == (tmp_path / "out/hard").read_bytes()
    modes = [
        (tmp_path / "out" / name).stat().st_mode & 0o7777 for name in ("package/tool", "train.py")
    ]
    assert [0o755, 0o644] == modes


@pytest.mark.parametrize(
    "members",
    [
        pytest.param([_member("/etc/x")], id="absolute name"),
        pytest.param([_member("../x")], id="climbing name"),
        pytest.param([_member("a/../../x")], id="climbing in the middle"),
        pytest.param([_member("l", tarfile.SYMTYPE, "/etc")], id="absolute link"),
        pytest.param([_member("l", tarfile.SYMTYPE, "../x")], id="climbing link"),
        pytest.param([_member("d/l", tarfile.SYMTYPE, "a/../../../x")], id="winding link"),
        pytest.param([_member("h", tarfile.LNKTYPE, "../x")], id="climbing hard link"),
        pytest.param([_member("h", tarfile.LNKTYPE, "nothing")], id="hard link to nothing"),
        pytest.param(
            [_member("l", tarfile.SYMTYPE, "."), _member("l/x")],
            id="name that leads through a link",
        ),
        pytest.param(
            [_member("l", tarfile.SYMTYPE, "d"), _member("l")], id="file that replaces a link"
        ),
        pytest.param(
            [_member("l", tarfile.SYMTYPE, "d"), _member("h", tarfile.LNKTYPE, "l")],
            id="hard link to a link",
        ),
        pytest.param([_member("x"), _member("x")], id="the same name twice"),
        pytest.param([_member("n", tarfile.CHRTYPE)], id="device"),
        pytest.param([_member("n", tarfile.FIFOTYPE)], id="pipe"),
    ],
)
def test_a_hostile_bundle_is_refused(tmp_path: Path, members: list[tarfile.TarInfo]) -> None:
    """Nothing is ever written outside of its directory."""
    bundle = _bundle(tmp_path / "b", *members)

    with pytest.raises(agent.UnsafeBundle):
        agent.unpack(bundle, tmp_path / "deep" / "out")

    assert {"b", "deep"} == {path.name for path in tmp_path.iterdir()} - {"home"}
    assert {"out"} == {path.name for path in (tmp_path / "deep").iterdir()}


@pytest.mark.parametrize(
    "cut", [pytest.param(lambda data: data[:40], id="cut"), pytest.param(lambda _: b"", id="empty")]
)
def test_a_broken_bundle_is_refused(tmp_path: Path, cut: Callable[[bytes], bytes]) -> None:
    """With a sentence, not a traceback."""
    bundle = _bundle(tmp_path / "b", _member("x"))
    bundle.write_bytes(cut(bundle.read_bytes()))

    with pytest.raises(agent.UnsafeBundle):
        agent.unpack(bundle, tmp_path / "out")


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are added up before they are written."""
    monkeypatch.setattr(agent, "BUNDLE_BYTES_MAX", 10)
    bundle = _bundle(tmp_path / "b", _member("x"), _member("y"), content=b"0" * 6)

    with pytest.raises(agent.UnsafeBundle, match="larger"):
        agent.unpack(bundle, tmp_path / "out")


def test_the_newest_checkpoint_is_the_newest_complete_one(tmp_path: Path) -> None:
    """Directories that are still written, or are no steps, do not count."""
    for name, mark in [
        ("20", "commit_success.txt"),
        ("100", "_CHECKPOINT_METADATA"),
        ("120", None),
        ("140.orbax-checkpoint-tmp", "_CHECKPOINT_METADATA"),
        ("best", "commit_success.txt"),
    ]:
        (tmp_path / "c" / name).mkdir(parents=True)
        if mark is not None:
            (tmp_path / "c" / name / mark).touch()

    assert agent.Checkpoint(100, str(tmp_path / "c" / "100")) == agent.newest_local_checkpoint(
        tmp_path / "c"
    )
    assert agent.newest_local_checkpoint(tmp_path / "nothing") is None


def test_output_is_kept_in_chunks_until_it_is_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No chunk is larger than its limit, and together they are the output."""
    monkeypatch.setattr(agent, "CHUNK_BYTES_MAX", 10)
    spool = agent.Spool(tmp_path / "j" / "0" / "1")

    for line in (b"12345\n", b"678\n", b"9\n"):
        spool.write(line)
    spool.rotate()
    spool.rotate()

    chunks = agent.spooled(tmp_path)
    assert ["000000.log", "000001.log"] == [chunk.name for chunk in chunks]
    assert [b"12345\n678\n", b"9\n"] == [chunk.read_bytes() for chunk in chunks]


def test_a_spool_that_storage_does_not_take_is_bounded(tmp_path: Path) -> None:
    """The oldest output goes first."""
    spool = agent.Spool(tmp_path / "j" / "0" / "1")
    for number in range(4):
        spool.write(b"%d" % number * 10)
        spool.rotate()

    assert 2 == agent.bound_spool(tmp_path, bytes_max=20)
    assert ["000002.log", "000003.log"] == [chunk.name for chunk in agent.spooled(tmp_path)]


def test_chunks_left_open_by_an_earlier_life_are_shipped_too(tmp_path: Path) -> None:
    """And their end is the evidence of an attempt that could not report it."""
    directory = tmp_path / "j" / "0" / "1"
    directory.mkdir(parents=True)
    (directory / "000000.part").write_bytes(b"last words\n")

    agent.close_leftovers(tmp_path)

    assert 1 == len(agent.spooled(tmp_path))
    assert "last words\n" == agent.spool_evidence(directory)


def test_what_storage_has_is_evidence_too_and_only_the_newest_is_kept(tmp_path: Path) -> None:
    """An agent may die long after its program said its last words."""
    older, newer = tmp_path / "j" / "0" / "1", tmp_path / "j" / "1" / "1"
    for directory, number in ((older, 0), (newer, 0), (newer, 1)):
        directory.mkdir(parents=True, exist_ok=True)
        chunk = directory / f"{number:06d}.log"
        chunk.write_bytes(b"words %d\n" % number)
        agent.set_aside(tmp_path, chunk)

    assert [] == agent.spooled(tmp_path)
    assert ("", "words 1\n") == (agent.spool_evidence(older), agent.spool_evidence(newer))


def test_a_record_survives_its_file(tmp_path: Path) -> None:
    """What a boot has started is read back as it was written."""
    record = agent.step(running(), exited(3.0))[0].record
    path = tmp_path / "boot.json"

    agent.write_atomic(path, agent.dump_record(record))

    assert record == agent.load_record(path)
    assert [path] == [entry for entry in tmp_path.iterdir() if entry.is_file()]
    assert agent.load_record(tmp_path / "other.json") is None


def test_lines_appended_to_a_file_are_read_once_they_are_whole(tmp_path: Path) -> None:
    """Half a line is read when its other half has come."""
    path = tmp_path / "progress"
    tail = agent.FileTail(path)
    assert [] == tail.lines()

    path.write_bytes(b"one\ntw")
    assert ["one\n"] == tail.lines()

    with path.open("ab") as file:
        file.write(b"o\n")
    assert ["two\n"] == tail.lines()
