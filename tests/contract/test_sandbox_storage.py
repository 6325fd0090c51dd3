"""The sandbox's Cloud Storage, spoken to by Google's own client library."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from google.api_core import exceptions
from google.cloud import storage  # type: ignore[attr-defined]  # it has no types

from tests.sandboxes import Box, running

MIB = 1024 * 1024
ODD_NAMES = ["a b", "ü/ñ", "../../etc/passwd", "a//b", "/lead", "x" * 900, "q?&#%2F", "dir/"]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """Give the sandbox that all tests of this file share; each uses names of its own."""
    with running(tmp_path_factory.mktemp("storage")) as box:
        yield box


@pytest.fixture
def bucket(box: Box) -> storage.Bucket:
    """Give the sandbox's bucket."""
    return box.bucket()


@pytest.mark.parametrize("name", ODD_NAMES)
def test_object_comes_back_whatever_it_is_called(bucket: storage.Bucket, name: str) -> None:
    """Names are data, never paths."""
    bucket.blob(name).upload_from_string(b"bytes", content_type="text/x-odd")

    blob = bucket.get_blob(name)

    assert b"bytes" == blob.download_as_bytes()
    assert (name, 5, "text/x-odd") == (blob.name, blob.size, blob.content_type)
    assert name in [listed.name for listed in bucket.list_blobs(prefix=name[:1])]


def test_large_object_is_uploaded_in_parts(bucket: storage.Bucket) -> None:
    """Resumable uploads, with checksums compared at both ends."""
    data = bytes(range(256)) * (MIB // 256) * 3
    blob = bucket.blob("large", chunk_size=MIB)

    blob.upload_from_string(data)

    assert data == bucket.blob("large").download_as_bytes(checksum="crc32c")


def test_binary_with_line_ends_survives_a_multipart_upload(bucket: storage.Bucket) -> None:
    """No byte of it is taken for a boundary's."""
    data = b"\r\n--x\r\n\r\n\x00\xff\r\n"

    bucket.blob("binary").upload_from_string(data)

    assert data == bucket.blob("binary").download_as_bytes()


def test_range_is_a_part(bucket: storage.Bucket) -> None:
    """As `logs -f` reads what is new."""
    bucket.blob("ranged").upload_from_string(b"0123456789")

    assert b"345" == bucket.blob("ranged").download_as_bytes(start=3, end=5)
    with pytest.raises(exceptions.RequestRangeNotSatisfiable):
        bucket.blob("ranged").download_as_bytes(start=10)


def test_generation_zero_means_must_not_exist(bucket: storage.Bucket) -> None:
    """The first writer wins."""
    bucket.blob("once").upload_from_string("first", if_generation_match=0)

    with pytest.raises(exceptions.PreconditionFailed, match="pre-conditions"):
        bucket.blob("once").upload_from_string("second", if_generation_match=0)

    assert b"first" == bucket.blob("once").download_as_bytes()


def test_write_needs_the_generation_that_was_read(bucket: storage.Bucket) -> None:
    """Compare-and-set."""
    blob = bucket.blob("cas")
    blob.upload_from_string("1")
    old = blob.generation
    blob.upload_from_string("2", if_generation_match=old)

    with pytest.raises(exceptions.PreconditionFailed):
        bucket.blob("cas").upload_from_string("3", if_generation_match=old)
    with pytest.raises(exceptions.PreconditionFailed):
        bucket.blob("cas").delete(if_generation_match=old)

    assert blob.generation != old
    assert b"2" == bucket.blob("cas").download_as_bytes()


def test_missing_object_is_not_found(bucket: storage.Bucket) -> None:
    """For reads and deletes alike."""
    assert bucket.get_blob("nothing") is None
    for call in (bucket.blob("nothing").download_as_bytes, bucket.blob("nothing").delete):
        with pytest.raises(exceptions.NotFound):
            call()


def test_unknown_bucket_is_not_found(bucket: storage.Bucket) -> None:
    """Nothing is made by being asked for."""
    with pytest.raises(exceptions.NotFound):
        bucket.client.bucket("nobody").blob("x").upload_from_string("x")


def test_listing_has_pages_and_folders(bucket: storage.Bucket) -> None:
    """Every object once, in order; folders once each, also across pages."""
    names = [f"tree/{folder}/{number}" for folder in "abc" for number in range(3)] + ["tree/z"]
    for name in names:
        bucket.blob(name).upload_from_string("x")

    flat = [blob.name for blob in bucket.list_blobs(prefix="tree/", page_size=2)]
    listing = bucket.list_blobs(prefix="tree/", delimiter="/", page_size=1)
    files = [blob.name for blob in listing]

    assert sorted(names) == flat
    assert ["tree/z"] == files
    assert {"tree/a/", "tree/b/", "tree/c/"} == listing.prefixes


def test_object_is_made_of_others(bucket: storage.Bucket) -> None:
    """Composed in order; nobody knows the MD5 of what was composed."""
    parts = [bucket.blob(f"parts/{number}") for number in range(3)]
    for number, part in enumerate(parts):
        part.upload_from_string(str(number))

    bucket.blob("parts/all").compose(parts)

    whole = bucket.get_blob("parts/all")
    assert (3, None) == (whole.component_count, whole.md5_hash)
    assert b"012" == whole.download_as_bytes()
    # The library has read the header of the download.
    assert whole.md5_hash is None


@pytest.mark.parametrize(
    "sources",
    [None, [], ["x"], [{"name": "x"}] * 33],
    ids=["none", "empty", "no objects", "more than 32"],
)
def test_composition_of_nothing_or_too_much_is_refused(box: Box, sources: object) -> None:
    """With Google's status, and no object."""
    request = urllib.request.Request(
        f"{box.url}/storage/v1/b/tpuctl-sandbox/o/never/compose",
        data=json.dumps({"sourceObjects": sources}).encode(),
        headers={"Content-Type": "application/json"},
    )

    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=30)
    error.value.close()

    assert 400 == error.value.code


def test_copy_keeps_what_is_said_of_the_object(bucket: storage.Bucket) -> None:
    """And a copy of a generation that is gone is refused."""
    original = bucket.blob("original")
    original.metadata = {"a": "b"}
    original.upload_from_string("x", content_type="text/x-odd")

    copy = bucket.copy_blob(original, bucket, "copy")
    original.upload_from_string("y")
    with pytest.raises(exceptions.NotFound):
        bucket.copy_blob(original, bucket, "late", source_generation=copy.generation)

    copy.reload()
    assert ("text/x-odd", {"a": "b"}) == (copy.content_type, copy.metadata)
    assert b"x" == copy.download_as_bytes()


def test_metadata_changes_without_a_new_generation(bucket: storage.Bucket) -> None:
    """The metageneration counts, and a writer may insist on the one that it has read."""
    blob = bucket.blob("told")
    blob.upload_from_string("x")
    generation = blob.generation

    blob.metadata = {"step": "7"}
    blob.patch(if_metageneration_match=1)
    with pytest.raises(exceptions.PreconditionFailed):
        blob.patch(if_metageneration_match=1)

    fresh = bucket.get_blob("told")
    assert ({"step": "7"}, 2, generation) == (
        fresh.metadata,
        fresh.metageneration,
        fresh.generation,
    )


def test_bucket_is_deleted_only_when_it_is_empty(bucket: storage.Bucket) -> None:
    """409 before, 404 after."""
    own = bucket.client.create_bucket("soon-gone")
    own.blob("last").upload_from_string("x")

    with pytest.raises(exceptions.Conflict):
        own.delete()
    own.blob("last").delete()
    own.delete()

    assert not own.exists()


def test_deleting_a_generation_that_is_gone_leaves_the_present_one(bucket: storage.Bucket) -> None:
    """As a cleaner does that looked before somebody wrote."""
    blob = bucket.blob("twice")
    blob.upload_from_string("old")
    old = blob.generation
    blob.upload_from_string("new")

    with pytest.raises(exceptions.NotFound):
        bucket.delete_blob("twice", generation=old)

    assert b"new" == bucket.blob("twice").download_as_bytes()


@pytest.mark.parametrize("line", [b"\r\n", b"\n"], ids=["as the standard says", "as gcloud does"])
@pytest.mark.parametrize("quote", ["", '"', "'"], ids=["bare", "double", "single"])
def test_multipart_body_is_read_with_any_line_ends_and_quotes(
    box: Box, bucket: storage.Bucket, line: bytes, quote: str
) -> None:
    """The bytes may hold boundaries, too: only the last one ends them."""
    data = b"x\r\n--=b=\n\r"
    body = line.join(
        (b"--=b=", b"Content-Type: application/json", b"", b'{"name": "parts"}', b"--=b=")
    ) + line.join((b"", b"Content-Type: text/plain", b"", data, b"--=b=--", b""))
    request = urllib.request.Request(
        f"{box.url}/upload/storage/v1/b/tpuctl-sandbox/o?uploadType=multipart",
        data=body,
        headers={"Content-Type": f"multipart/related; boundary={quote}=b={quote}"},
    )

    urllib.request.urlopen(request, timeout=30).close()

    assert data == bucket.blob("parts").download_as_bytes()


def test_unmodified_object_is_not_sent_again(box: Box, bucket: storage.Bucket) -> None:
    """304 for the generation that the reader has."""
    blob = bucket.blob("poll")
    blob.upload_from_string("x")
    url = f"{box.url}/storage/v1/b/tpuctl-sandbox/o/poll?alt=media&ifGenerationNotMatch="

    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(f"{url}{blob.generation}", timeout=30)
    error.value.close()

    assert 304 == error.value.code
    with urllib.request.urlopen(f"{url}1", timeout=30) as answer:
        assert str(blob.generation) == answer.headers["X-Goog-Generation"]


def test_failed_precondition_has_googles_body(box: Box, bucket: storage.Bucket) -> None:
    """Agents read it without Google's client."""
    bucket.blob("raw").upload_from_string("x")
    request = urllib.request.Request(
        f"{box.url}/upload/storage/v1/b/tpuctl-sandbox/o"
        "?uploadType=media&name=raw&ifGenerationMatch=0",
        data=b"y",
        headers={"Content-Type": "application/octet-stream"},
    )

    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=30)
    body = json.load(error.value)
    error.value.close()

    assert 412 == error.value.code
    assert "conditionNotMet" == body["error"]["errors"][0]["reason"]
