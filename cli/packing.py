"""Pack the code of a folder into a bundle that is named by its content.

The same content gives the same bytes, whoever packs it and when: names are sorted, times and
owners are zero, and of the modes only "executable" is kept. Links stay links.
"""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path, PurePosixPath

from cli.code_files import list_code
from shared.core.names import code_object
from shared.errors import SpecError

BUNDLE_BYTES_MAX = 100 * 1024 * 1024
LARGEST_SHOWN = 5
# Beyond 6 gzip takes much longer for hardly anything.
COMPRESSION = 6
MODE_FILE = 0o644
MODE_PROGRAM = 0o755
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bundle:
    """Packed code (a ``tar.gz``), and where it came from."""

    data: bytes
    sha256: str
    files: int
    git_commit: str | None
    git_dirty: bool

    @property
    def object_name(self) -> str:
        """The name under which the bundle is stored."""
        return code_object(self.sha256)

    def as_code(self) -> dict[str, object]:
        """Describe the bundle as the field ``code`` of a job spec."""
        return {
            "sha256": self.sha256,
            "bytes": len(self.data),
            "object": self.object_name,
            "git_commit": self.git_commit,
            "git_dirty": self.git_dirty,
        }


def pack(folder: Path, *, bytes_max: int = BUNDLE_BYTES_MAX) -> Bundle:
    """Pack a folder, or say what of it cannot be packed."""
    root = folder.resolve()
    if not root.is_dir():
        raise SpecError("code", f"{folder} is not a folder")
    listing = list_code(root)
    entries = [entry for path in listing.paths if (entry := _entry(root, path)) is not None]
    if not entries:
        raise SpecError("code", f"{folder} has no files to pack; are all of them ignored?")
    _check_size(entries, bytes_max)
    data = gzip.compress(_tar(root, entries), COMPRESSION, mtime=0)
    return Bundle(
        data=data,
        sha256=sha256(data).hexdigest(),
        files=len(entries),
        git_commit=listing.git_commit,
        git_dirty=listing.git_dirty,
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    path: PurePosixPath
    size: int
    mode: int
    link: str | None = None


def _entry(root: Path, path: PurePosixPath) -> _Entry | None:
    """Look at one path; sockets, pipes and devices have no content and are left out."""
    try:
        status = (root / path).lstat()
        if stat.S_ISLNK(status.st_mode):
            return _Entry(path, 0, MODE_PROGRAM, _link(root, path))
    except OSError as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(status.st_mode):
        return None
    is_program = bool(status.st_mode & stat.S_IXUSR)
    return _Entry(path, status.st_size, MODE_PROGRAM if is_program else MODE_FILE)


def _link(root: Path, path: PurePosixPath) -> str:
    """Read a link; it must stay inside, both as it is written and where it really leads."""
    target = (root / path).readlink()
    written = os.path.normpath(root / path.parent / target)
    real = os.path.realpath(root / path)
    if target.is_absolute() or not all(Path(end).is_relative_to(root) for end in (written, real)):
        raise SpecError("code", f"{path} is a link to {target}, outside of what is packed")
    return str(target)


def _check_size(entries: Sequence[_Entry], bytes_max: int) -> None:
    size = sum(entry.size for entry in entries)
    if size <= bytes_max:
        return
    largest = sorted(entries, key=lambda entry: entry.size, reverse=True)[:LARGEST_SHOWN]
    names = ", ".join(f"{entry.path} ({entry.size / _MIB:.1f} MiB)" for entry in largest)
    raise SpecError(
        "code",
        f"{size / _MIB:.1f} MiB are more than the {bytes_max / _MIB:.1f} MiB that fit;"
        f" the largest files: {names}; name what is not code in .tpuctlignore",
    )


def _tar(root: Path, entries: Sequence[_Entry]) -> bytes:
    buffer = BytesIO()
    with tarfile.open(
        fileobj=buffer,
        mode="w",
        format=tarfile.PAX_FORMAT,
        encoding="utf-8",
        errors="surrogateescape",
    ) as archive:
        for entry in entries:
            _add(archive, root, entry)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, root: Path, entry: _Entry) -> None:
    """Add one entry; a fresh header has no time and no owner."""
    header = tarfile.TarInfo(str(entry.path))
    header.mode = entry.mode
    if entry.link is not None:
        header.type, header.linkname = tarfile.SYMTYPE, entry.link
        archive.addfile(header)
        return
    try:
        content = (root / entry.path).read_bytes()
    except OSError as error:
        raise _unreadable(entry.path, error) from None
    header.size = len(content)
    archive.addfile(header, BytesIO(content))


def _unreadable(path: PurePosixPath, error: OSError) -> SpecError:
    if isinstance(error, FileNotFoundError):
        return SpecError("code", f"{path} vanished while it was packed; try again")
    return SpecError("code", f"{path} cannot be read: {error.strerror}")
