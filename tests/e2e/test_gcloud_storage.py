"""`gcloud storage` on the sandbox's buckets: the real program, byte for byte."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import gclouds
from tests.gclouds import Gcloud
from tests.sandboxes import Box, running

# Above 8 MiB gcloud uploads in parts that can be resumed.
LARGE_BYTES = 9 * 1024 * 1024
BUCKET = "gs://tpuctl-sandbox"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Give the sandbox that all tests of this file share; each uses names of its own."""
    gclouds.program()
    with running(tmp_path_factory.mktemp("gcloud") / "sandbox") as box:
        yield box


@pytest.fixture
def gcloud(box: Box) -> Gcloud:
    """Give a gcloud that speaks to it."""
    return gclouds.pointed_at(box.home.parent, box.url)


def test_a_folder_goes_up_and_comes_back_whole(gcloud: Gcloud, tmp_path: Path) -> None:
    """One file in a single call, one in parts, both checked by their hashes."""
    folder, back = tmp_path / "run", tmp_path / "back"
    (folder / "deep").mkdir(parents=True)
    back.mkdir()
    (folder / "note.txt").write_bytes(b"with\r\nall\rline\nends\n")
    (folder / "deep" / "large.bin").write_bytes(hashlib.sha256(b"x").digest() * (LARGE_BYTES // 32))

    up = gcloud.run("storage", "cp", "-r", str(folder), BUCKET)
    down = gcloud.run("storage", "cp", "-r", f"{BUCKET}/run", str(back))

    assert (0, 0) == (up.code, down.code), up.err + down.err
    for name in ("note.txt", "deep/large.bin"):
        assert (folder / name).read_bytes() == (back / "run" / name).read_bytes()


def test_listings_have_folders_and_reads_have_ranges(gcloud: Gcloud, box: Box) -> None:
    """``ls`` shows one level, ``cat`` may want a part only."""
    box.bucket().blob("list/a/one").upload_from_string("0123456789")

    assert f"{BUCKET}/list/a/\n" == gcloud.run("storage", "ls", f"{BUCKET}/list").out
    assert "2345" == gcloud.run("storage", "cat", "-r", "2-5", f"{BUCKET}/list/a/one").out


def test_objects_are_moved_and_a_bucket_removed_with_them(gcloud: Gcloud, box: Box) -> None:
    """In a bucket that gcloud made."""
    box.bucket().blob("moved").upload_from_string("moved")
    name = "made-by-gcloud"
    other = box.bucket().client.bucket(name)

    made = gcloud.run("storage", "buckets", "create", f"gs://{name}")
    moved = gcloud.run("storage", "mv", f"{BUCKET}/moved", f"gs://{name}/here")
    there = other.blob("here").download_as_bytes()
    gone = gcloud.run("storage", "rm", "-r", f"gs://{name}")

    assert (0, 0, 0) == (made.code, moved.code, gone.code), made.err + moved.err + gone.err
    assert (b"moved", False) == (there, box.bucket().blob("moved").exists())
    assert not other.exists()


def test_what_is_not_there_is_said_so(gcloud: Gcloud) -> None:
    """As on the real service, with gcloud's own words."""
    said = gcloud.run("storage", "rm", f"{BUCKET}/nothing/here")

    assert 1 == said.code
    assert "matched no objects or files" in said.err
