"""Which files of a folder are its code.

In a git working tree: what git tracks, as it is on disk, and what it does not know yet, but
never what it ignores. Elsewhere: everything that no ``.gitignore`` names. In both
``.tpuctlignore`` files, written like ``.gitignore``, take more away.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from shared.errors import SpecError

GIT_TIMEOUT_S = 60.0
OWN_RULES = (".tpuctlignore",)
ALL_RULES = (".gitignore", ".tpuctlignore")
NEVER = frozenset({".git", ".venv", "__pycache__"})


@dataclass(frozen=True, slots=True)
class Listing:
    """The paths of the code, sorted and relative, and the commit they are based on."""

    paths: tuple[PurePosixPath, ...]
    git_commit: str | None = None
    git_dirty: bool = False


def list_code(folder: Path) -> Listing:
    """List the code of a folder."""
    if not is_git_tree(folder):
        return Listing(
            _kept(folder, _walk(folder, Rules(folder, ALL_RULES), PurePosixPath()), ALL_RULES)
        )
    status = _git(folder, "status", "--porcelain", "-z", "--", ".")
    paths = _kept(folder, _git_files(folder), OWN_RULES)
    return Listing(paths, _commit(folder), git_dirty=bool(status))


def is_git_tree(folder: Path) -> bool:
    """Tell whether git looks after this folder; a tree that git refuses to read is an error."""
    if not any((above / ".git").exists() for above in (folder, *folder.parents)):
        return False
    try:
        return _git(folder, "rev-parse", "--is-inside-work-tree").strip() == "true"
    except FileNotFoundError:
        return False  # git is not installed: ignore rules can be read without it


@dataclass(frozen=True, slots=True)
class Rules:
    """The ignore files of a tree; the rule nearest to a path decides, as in git."""

    root: Path
    names: tuple[str, ...]
    specs: dict[PurePosixPath, list[GitIgnoreSpec]] = field(default_factory=dict)

    def ignores(self, path: PurePosixPath, *, is_folder: bool = False) -> bool:
        """Tell whether a path, or a folder above it, is ignored."""
        folders = [above for above in reversed(path.parents) if above.parts]
        return any(self._ignores(folder, is_folder=True) for folder in folders) or self._ignores(
            path, is_folder=is_folder
        )

    def _ignores(self, path: PurePosixPath, *, is_folder: bool) -> bool:
        if path.name in NEVER:
            return True
        return any(
            self._decides(name, path, is_folder=is_folder) for name in range(len(self.names))
        )

    def _decides(self, rule: int, path: PurePosixPath, *, is_folder: bool) -> bool:
        """Ask the rule files of one name, from the path's own folder upwards."""
        for above in path.parents:
            relative = str(path.relative_to(above)) + ("/" if is_folder else "")
            verdict = self._specs(above)[rule].check_file(relative).include
            if verdict is not None:
                return verdict
        return False

    def _specs(self, folder: PurePosixPath) -> list[GitIgnoreSpec]:
        if folder not in self.specs:
            self.specs[folder] = [_read_rules(self.root / folder / name) for name in self.names]
        return self.specs[folder]


def _kept(
    folder: Path, paths: Iterator[PurePosixPath], names: tuple[str, ...]
) -> tuple[PurePosixPath, ...]:
    rules = Rules(folder, names)
    return tuple(sorted(path for path in set(paths) if not rules.ignores(path)))


def _walk(root: Path, rules: Rules, folder: PurePosixPath) -> Iterator[PurePosixPath]:
    """Find files and links, without entering what is ignored or linked."""
    try:
        entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
    except OSError as error:
        raise SpecError("code", f"{folder} cannot be read: {error.strerror}") from None
    for entry in entries:
        path = folder / entry.name
        if not entry.is_dir(follow_symlinks=False):
            yield path
        elif not rules.ignores(path, is_folder=True):
            yield from _walk(root, rules, path)


def _read_rules(file: Path) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(file.read_text(errors="replace").splitlines())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return GitIgnoreSpec.from_lines([])
    except (OSError, ValueError) as error:
        raise SpecError("code", f"{file} cannot be read: {error}") from None


def _git_files(folder: Path) -> Iterator[PurePosixPath]:
    """List a working tree; a tree inside it (a submodule, a clone) is listed in the same way."""
    listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        path = PurePosixPath(name)
        inner = folder / path
        if inner.is_dir() and not inner.is_symlink():
            if (inner / ".git").exists():
                yield from (path / below for below in _git_files(inner))
        elif inner.is_symlink() or inner.exists():  # a tracked file may have been deleted
            yield path


def _commit(folder: Path) -> str | None:
    try:
        return _git(folder, "rev-parse", "--verify", "HEAD").strip()
    except SpecError:
        return None  # a repository without a commit


def _git(folder: Path, *arguments: str) -> str:
    """Run git on a folder, without settings of another repository that surrounds this process."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=folder,
            env=environment | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            capture_output=True,
            check=True,
            timeout=GIT_TIMEOUT_S,
        )
    except subprocess.CalledProcessError as error:
        said = os.fsdecode(error.stderr).strip().splitlines() or ["no reason given"]
        raise SpecError("code", f"git cannot read {folder}: {said[0]}") from None
    except subprocess.TimeoutExpired:
        raise SpecError("code", f"git took more than {GIT_TIMEOUT_S:.0f} s in {folder}") from None
    return os.fsdecode(done.stdout)
