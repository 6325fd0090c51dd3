"""The deployed zip: what is in it, and the same bytes for the same source."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from infra import package
from shared.topology import FUNCTIONS

ROOT = package.ROOT
LOCK, FUNCTIONS_LOCK = ROOT / "requirements.lock", ROOT / "requirements-functions.lock"
_SPLIT = re.compile(r"\n(?=\S)")


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Pack this source, and list what is in it."""
    output = tmp_path_factory.mktemp("zip") / "functions.zip"
    package.package(ROOT, output)
    with ZipFile(output) as file:
        return file.namelist()


def pins(lock: Path) -> dict[str, frozenset[str]]:
    """Read a lock file: each pinned package with its hashes."""
    blocks = _SPLIT.split(lock.read_text("utf-8").strip())
    return {
        block.partition(" \\")[0]: frozenset(re.findall(r"--hash=sha256:[0-9a-f]{64}", block))
        for block in blocks
    }


def source_copy(folder: Path, *, umask: int) -> Path:
    """Copy what is packed to another place, as somebody else's checkout."""
    before = os.umask(umask)
    try:
        for name in ("functions", "shared", "infra"):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(
                ROOT / name, folder / name, copy_function=shutil.copyfile, ignore=ignored
            )
        shutil.copyfile(FUNCTIONS_LOCK, folder / FUNCTIONS_LOCK.name)
    finally:
        os.umask(before)
    for number, path in enumerate(sorted(folder.rglob("*"), reverse=True)):
        os.utime(path, (10**9 + number, 10**9 + number))
    return folder


def test_the_same_source_is_the_same_bytes(tmp_path: Path) -> None:
    """From another folder, at another time, under another umask, by another process."""
    here = package.package(ROOT, tmp_path / "here.zip")
    folder = source_copy(tmp_path / "there", umask=0o077)
    (folder / "shared" / "__pycache__").mkdir()
    (folder / "shared" / "__pycache__" / "log.pyc").write_bytes(b"leftover")
    (folder / "shared" / "log.py~").write_bytes(b"leftover")
    script = str(folder / "infra" / "package.py")
    command = [sys.executable, script, "--output", "build/functions.zip"]
    told = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)

    assert here == (folder / "build" / "functions.zip").read_bytes()
    with ZipFile(tmp_path / "here.zip") as file:
        assert {(1980, 1, 1, 0, 0, 0)} == {entry.date_time for entry in file.infolist()}
    digest = sha256(here).hexdigest()
    assert f"build/functions.zip  {len(here)} bytes  sha256:{digest}\n" == told.stdout


def test_a_changed_source_is_other_bytes(tmp_path: Path) -> None:
    """A deployment sees that something is new."""
    folder = source_copy(tmp_path / "there", umask=0o022)
    before = package.package(folder, tmp_path / "before.zip")
    with (folder / "shared" / "log.py").open("a") as file:
        file.write("# changed\n")

    assert before != package.package(folder, tmp_path / "after.zip")


def test_the_zip_holds_what_functions_need(names: list[str]) -> None:
    """Their data and what they put on hosts, too."""
    wanted = {
        "main.py",
        "requirements.txt",
        "functions/main.py",
        "functions/serving.py",
        "shared/app/push.py",
        "shared/data/accelerators.json",
        "shared/data/topology.json",
        "shared/host/agent.py",
        "shared/host/startup.sh",
    }
    assert set() == wanted - set(names)
    assert sorted(names) == names


def test_the_zip_holds_nothing_else(names: list[str]) -> None:
    """No tests, no command line, no sandbox, and nothing that imports them."""
    assert {"main.py", "requirements.txt", "functions", "shared"} == {
        name.partition("/")[0] for name in names
    }
    assert "functions/runner.py" not in names
    assert {".json", ".py", ".sh", ".txt"} == {Path(name).suffix for name in names}


def test_the_root_has_every_function() -> None:
    """Under the name that it is deployed with."""
    text = (ROOT / "functions" / "deployed.py").read_text("utf-8")
    (imported,) = re.findall(r"^from functions\.main import (.+)$", text, re.MULTILINE)

    assert sorted(FUNCTIONS) == imported.split(", ")


def test_requirements_are_pinned_with_hashes() -> None:
    """As they are locked for everybody, without an address of where they come from."""
    locked, functions = pins(LOCK), pins(FUNCTIONS_LOCK)

    assert all(re.match(r"[a-z0-9-]+==\S+( ; .+)?$", name) for name in functions)
    assert all(functions.values())
    assert functions == {name: hashes for name, hashes in locked.items() if name in functions}
    assert "://" not in FUNCTIONS_LOCK.read_text("utf-8")


def test_functions_need_nothing_that_the_product_does_not_name() -> None:
    """What they import is part of the product's dependencies, or comes with them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wanted = project["dependency-groups"]["functions"]
    pinned = {name.partition("==")[0] for name in pins(FUNCTIONS_LOCK)}

    assert set() == set(wanted) - pinned
    assert not {"typer", "rich", "pathspec", "pyyaml"} & pinned


def test_a_place_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And no success."""
    (tmp_path / "file").touch()

    assert 1 == package.main(["--output", str(tmp_path / "file" / "functions.zip")])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
