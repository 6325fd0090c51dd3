"""What is installed is what was locked: by hash, from wherever the machine gets its packages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.security.scan import ROOT

LOCKS = [*sorted(ROOT.glob("*.lock")), ROOT / "infra" / "checkov.lock"]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")
PIP = re.compile(r"pip\b.*\binstall\b")


def requirements(text: str) -> list[str]:
    """Join what goes over several lines."""
    joined = text.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def faults(text: str) -> Iterator[str]:
    """Say which requirements are not pinned by hash, or say where they come from."""
    for line in requirements(text):
        name = line.split()[0]
        if not re.match(r"[A-Za-z0-9._\-\[\]]+==\S+$", name):
            yield f"no version: {name}"
        if not HASH.search(line):
            yield f"no hash: {name}"
        if "://" in line or line.startswith("-"):
            yield f"an address or an option: {name}"


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_package_is_pinned_by_hash_and_names_no_address(path: Path) -> None:
    """Any mirror can serve it, and nobody can change it."""
    text = path.read_text("utf-8")

    assert [] == list(faults(text))
    assert len(requirements(text)) >= 3


@pytest.mark.parametrize(
    "line, fault",
    [
        ("a==1", "no hash: a==1"),
        ("a==1 --hash=md5:00", "no hash: a==1"),
        (f"a>=1 --hash=sha256:{'0' * 64}", "no version: a>=1"),
        (f"a @ https://x/a.whl --hash=sha256:{'0' * 64}", "no version: a"),
        ("--index-url https://x/simple", "an address or an option: --index-url"),
    ],
)
def test_a_package_that_is_not_pinned_would_be_seen(line: str, fault: str) -> None:
    """Else the test above could not fail."""
    good = f"b==2 \\\n    --hash=sha256:{'a' * 64}\n"

    assert [] == list(faults(good))
    assert fault in list(faults(good + line))


def test_everything_that_installs_asks_for_hashes() -> None:
    """The set-up, and the environments beside it; only the project itself has none."""
    setup = (ROOT / ".ci" / "setup.py").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    installs = re.findall(r"^ +install\(.*\)$|^ +run\(\[.*pip.*install.*\]\)$", setup, re.MULTILINE)
    unpinned = [line.strip() for line in installs if "*PINNED" not in line]

    assert re.search(r"^PINNED = .*\"--require-hashes\"", setup, re.MULTILINE)
    assert ['install(["--no-deps", "--no-build-isolation", "--editable", "."])'] == [
        line for line in unpinned if "*arguments" not in line
    ]
    lines = [line for line in makefile.splitlines() if PIP.search(line)]
    assert [] == [line for line in lines if "--require-hashes" not in line]
