"""When a setup is run again: only when it is another one, or changed the code itself."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from shared.host import agent

MACHINE = agent.Machine("node", 0, "host", "boot", "127.0.0.1")
CONFIG = {
    "version": 1,
    "project": "p",
    "bucket": "b",
    "mandate": "m",
    "slice": "s",
    "slice_uid": "u",
    "generation": 1,
    "bid": "0",
    "hosts": 1,
}
FILES = {"train.py": "print(1)", "setup.sh": "cat deps.txt", "deps.txt": "jax", "lib/x.py": ""}


class Bucket(agent.Google):
    """A bucket in memory."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put(self, data: bytes) -> agent.Content:
        """Keep an object under its content's name."""
        sha256 = hashlib.sha256(data).hexdigest()
        self.objects[sha256] = data
        return agent.Content(sha256, sha256)

    def read_object(self, bucket: str, name: str) -> bytes:  # noqa: ARG002 - as Google has it
        """Read an object."""
        return self.objects[name]

    def download(self, bucket: str, name: str, path: Path) -> str:  # noqa: ARG002 - the same
        """Copy an object into a file."""
        path.write_bytes(self.objects[name])
        return hashlib.sha256(self.objects[name]).hexdigest()


def bundle(files: Mapping[str, str]) -> bytes:
    """Pack code."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            header = tarfile.TarInfo(name)
            header.size = len(text)
            archive.addfile(header, io.BytesIO(text.encode()))
    return buffer.getvalue()


class Disk:
    """A host on which specs are prepared; every setup writes a line into ``ran``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ran = path / "ran"
        self.bucket = Bucket()
        self.root = agent.Root(path / "opt")

    def prepare(self, setup: str, files: Mapping[str, str]) -> int:
        """Prepare a spec and return how many setups have run so far."""
        code = self.bucket.put(bundle(files))
        words = ["bash", "-ec", f"{setup}; echo x >>{self.ran}"]
        spec = {
            "command": ["true"],
            "setup": words,
            "code": {"object": code.object, "sha256": code.sha256},
        }
        content = self.bucket.put(json.dumps(spec).encode())
        config = agent.parse_config(json.dumps(CONFIG).encode(), MACHINE)
        environ = {"PATH": "/usr/bin:/bin", "TPUCTL_ROOT": str(self.path)}
        agent.Preparation(self.bucket, config, self.root, environ).run(content)
        return len(self.ran.read_text().splitlines())


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    """Have an empty host."""
    return Disk(tmp_path)


def test_setup_is_run_once_for_code_that_changes(disk: Disk) -> None:
    """What it installs is there for other code as well."""
    disk.prepare("true", FILES)

    assert 1 == disk.prepare("true", {**FILES, "train.py": "print(2)"})
    assert 1 == disk.prepare("true", FILES)


@pytest.mark.parametrize(
    "setup, changed",
    [
        ("bash setup.sh", {"setup.sh": "cat deps.txt #"}),
        ("bash setup.sh", {"deps.txt": "jax flax"}),
        ("cat ./deps.txt", {"deps.txt": "jax flax"}),
        ("ls .", {"train.py": "print(2)"}),
        ("ls lib", {"train.py": "print(2)"}),
    ],
    ids=["its script", "what its script names", "a file that it names", "all", "a folder"],
)
def test_setup_is_run_again_when_what_it_names_changes(
    disk: Disk, setup: str, changed: dict[str, str]
) -> None:
    """Its words alone are not its content."""
    disk.prepare(setup, FILES)

    assert 2 == disk.prepare(setup, {**FILES, **changed})


@pytest.mark.parametrize(
    "setup", ["touch new", "echo 1 >>train.py", "mkdir -p venv"], ids=["file", "change", "folder"]
)
def test_setup_that_changes_the_code_is_run_for_all_code(disk: Disk, setup: str) -> None:
    """The next code would lack what it made beside the last."""
    disk.prepare(setup, FILES)

    assert 2 == disk.prepare(setup, {**FILES, "train.py": "print(2)"})


def test_setup_is_run_again_after_another_one(disk: Disk) -> None:
    """It may have undone what the first one did."""
    disk.prepare("true", FILES)
    disk.prepare("echo other", {**FILES, "train.py": "print(2)"})

    assert 3 == disk.prepare("true", {**FILES, "train.py": "print(3)"})


def test_setup_that_failed_is_run_again(disk: Disk) -> None:
    """Whatever it did before that."""
    disk.prepare("true", FILES)
    with pytest.raises(agent.PreparationFailed):
        disk.prepare("false", {**FILES, "train.py": "print(2)"})

    assert 2 == disk.prepare("true", {**FILES, "train.py": "print(3)"})


def test_what_python_leaves_is_no_change(disk: Disk) -> None:
    """A setup may run the code."""
    setup = "mkdir -p lib/__pycache__ && touch lib/__pycache__/x.pyc"
    disk.prepare(setup, FILES)
    states = agent.file_states(disk.root.source)

    assert not [name for name in states if "__pycache__" in name]
