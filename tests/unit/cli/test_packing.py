"""Packing takes exactly the code, gives equal bytes for equal content, and says what it cannot."""

import os
import subprocess
import tarfile
from io import BytesIO
from pathlib import Path

import pytest
from pytest_mock import MockerFixture

from cli.packing import pack
from shared.core.spec import parse_spec
from shared.errors import SpecError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make an empty folder."""
    path = tmp_path / "code"
    path.mkdir()
    return path


def write(folder: Path, **files: str) -> None:
    """Write files; a double underscore in a name stands for a slash, a single one for a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def git(folder: Path, *arguments: str) -> None:
    """Run git as nobody in particular."""
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def names(data: bytes) -> list[str]:
    """List a bundle."""
    with tarfile.open(fileobj=BytesIO(data)) as archive:
        return archive.getnames()


def test_equal_content_is_equal_bytes(tmp_path: Path) -> None:
    """Neither times, places, owners nor the order of writing count."""
    first, second = tmp_path / "first", tmp_path / "second"
    write(first, a_py="1", b__c_py="2")
    write(second, b__c_py="2", a_py="1")
    os.utime(second / "a.py", (0, 0))
    (second / "a.py").chmod(0o600)

    assert pack(first) == pack(second)


def test_content_and_the_executable_bit_count(folder: Path) -> None:
    """A program that became executable is other code."""
    write(folder, run_sh="echo")
    before = pack(folder)
    (folder / "run.sh").chmod(0o700)

    assert before.sha256 != pack(folder).sha256


def test_headers_hold_no_time_and_no_owner(folder: Path) -> None:
    """Whoever unpacks it learns nothing about who packed it."""
    write(folder, a_py="1")

    with tarfile.open(fileobj=BytesIO(pack(folder).data)) as archive:
        (header,) = archive.getmembers()

    assert (0, 0, 0, "", "") == (header.mtime, header.uid, header.gid, header.uname, header.gname)
    assert 0o644 == header.mode


def test_git_decides_in_a_working_tree(folder: Path) -> None:
    """Changed and new files go along as they are on disk; ignored and deleted ones do not."""
    write(folder, _gitignore="*.log\n", a_py="1", gone_py="2", sub__b_py="3")
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    clean = pack(folder)
    write(folder, a_py="changed", new_py="4", out_log="5")
    (folder / "gone.py").unlink()

    dirty = pack(folder)

    assert [".gitignore", "a.py", "new.py", "sub/b.py"] == names(dirty.data)
    assert (False, True) == (clean.git_dirty, dirty.git_dirty)
    assert clean.git_commit == dirty.git_commit
    assert ["b.py"] == names(pack(folder / "sub").data)


def test_a_repository_without_a_commit_is_dirty(folder: Path) -> None:
    """There is nothing yet that it could be based on."""
    write(folder, a_py="1")
    git(folder, "init")

    bundle = pack(folder)

    assert (None, True, 1) == (bundle.git_commit, bundle.git_dirty, bundle.files)


def test_a_repository_in_a_repository_goes_along(folder: Path) -> None:
    """Submodules and clones are code too."""
    write(folder, a_py="1", inner__b_py="2", inner___gitignore="c.py", inner__c_py="3")
    git(folder, "init")
    git(folder / "inner", "init")

    assert ["a.py", "inner/.gitignore", "inner/b.py"] == names(pack(folder).data)


@pytest.mark.parametrize("with_git", [True, False])
def test_own_ignore_rules_always_apply(folder: Path, *, with_git: bool) -> None:
    """What git needs and the job does not."""
    write(folder, _tpuctlignore="data/\n*.bin\n!keep.bin\n", data__x="1", a_bin="2", keep_bin="3")
    if with_git:
        git(folder, "init")

    assert [".tpuctlignore", "keep.bin"] == names(pack(folder).data)


def test_ignore_files_are_read_where_there_is_no_git(folder: Path) -> None:
    """The rule nearest to a file decides, and what is never code stays behind."""
    write(folder, _gitignore="*.log\nbuild/\n", a_log="1", b_py="2", build__c_py="3")
    write(folder, sub___gitignore="!kept.log\n/own.py\n", sub__kept_log="4", sub__own_py="5")
    for never in (".venv", "__pycache__", ".git"):
        (folder / "sub" / never).mkdir()
        (folder / "sub" / never / "x").write_text("6")

    assert [".gitignore", "b.py", "sub/.gitignore", "sub/kept.log"] == names(pack(folder).data)


def test_odd_names_are_kept(folder: Path) -> None:
    """Spaces, newlines, quotes and bytes that are no text."""
    odd = ["a b", "c\nd", "e'\"$(id)", "ü" * 60, os.fsdecode(b"\xff")]
    for name in odd:
        (folder / name).write_text(name.encode(errors="replace").decode())
    git(folder, "init")

    assert sorted(odd) == names(pack(folder).data)


def test_links_inside_stay_links(folder: Path) -> None:
    """A link is its target's name, not its content; linked folders are not entered."""
    write(folder, sub__a_py="1")
    (folder / "to_file").symlink_to("sub/a.py")
    (folder / "to_folder").symlink_to("sub")

    with tarfile.open(fileobj=BytesIO(pack(folder).data)) as archive:
        links = {header.name: header.linkname for header in archive if header.issym()}

    assert {"to_file": "sub/a.py", "to_folder": "sub"} == links


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret", "sub/../../secret"])
def test_links_that_lead_outside_are_refused(folder: Path, target: str) -> None:
    """They would be broken on the host, or worse, not broken."""
    (folder / "link").symlink_to(target)

    with pytest.raises(SpecError, match=r"code: link is a link to .*, outside"):
        pack(folder)


def test_too_much_is_refused_with_the_largest_files(folder: Path) -> None:
    """The error says what to leave out."""
    for size in range(1, 8):
        (folder / f"{size}.bin").write_bytes(b"x" * size * 100_000)

    with pytest.raises(SpecError) as caught:
        pack(folder, bytes_max=1024 * 1024)

    assert "2.7 MiB are more than the 1.0 MiB" in caught.value.reason
    assert "7.bin (0.7 MiB), 6.bin (0.6 MiB), 5.bin" in caught.value.reason
    assert "2.bin" not in caught.value.reason


def test_nothing_to_pack_is_an_error(folder: Path) -> None:
    """An empty folder is a mistake, and so is one that is not there."""
    with pytest.raises(SpecError, match="has no files to pack"):
        pack(folder)
    with pytest.raises(SpecError, match="is not a folder"):
        pack(folder / "missing")


@pytest.mark.parametrize(
    "error, reason",
    [
        pytest.param(PermissionError(13, "Permission denied"), "Permission denied", id="denied"),
        pytest.param(FileNotFoundError(2, "No such file"), "vanished", id="vanished"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    folder: Path, mocker: MockerFixture, error: OSError, reason: str
) -> None:
    """A bundle is whole, or it is not made."""
    write(folder, a_py="1")
    mocker.patch.object(Path, "read_bytes", side_effect=error)

    with pytest.raises(SpecError, match=rf"code: a\.py .*{reason}"):
        pack(folder)


def test_a_tree_that_git_refuses_is_an_error(folder: Path) -> None:
    """Guessing what git would ignore could upload secrets."""
    write(folder, a_py="1", _git="gitdir: /nowhere\n")

    with pytest.raises(SpecError, match="git cannot read"):
        pack(folder)


def test_a_bundle_describes_itself_for_the_spec(folder: Path) -> None:
    """The field ``code`` is what a spec takes."""
    write(folder, a_py="1")
    bundle = pack(folder)

    spec = parse_spec({"name": "a", "command": ["x"], "code": bundle.as_code()})

    assert spec.code is not None
    assert f"code/{bundle.sha256}.tar.gz" == spec.code.object
