"""What the security page promises of all source at once, read from its syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.adapters import firestore, pubsub_calls, tpu_calls

ROOT = Path(__file__).parents[2]
FOLDERS = ("cli", "functions", "infra", "sandbox", "shared")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
ADAPTERS = sorted((ROOT / "shared" / "adapters").glob("*.py"))

SHELLS = {"os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"}
# Who is asked in an adapter, and which of its methods ask nobody.
CLIENTS = {"client", "publisher", "subscriber", "_client", "_bucket", "blob"}
LOCAL_METHODS = {"bucket", "blob"}
GOOGLE = {"firestore.py", "pubsub.py", "pubsub_setup.py", "scheduler.py", "storage.py", "tpu.py"}
GOOGLE.add("tpu_others.py")
# What calls may hand over as ``**name`` in place of a timeout of their own.
LIMITS = {"CALL": tpu_calls.CALL, "_READ": firestore._READ, "_WRITE": firestore._WRITE}
LIMITS["calls.CALL"] = pubsub_calls.CALL


def name(path: Path) -> str:
    """Name a file in a table of cases."""
    return path.relative_to(ROOT).as_posix()


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Give the calls in a text, by what is called."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def through_a_shell(source: str) -> list[str]:
    """Return the calls by which a text would become a command line."""
    return [
        f"{node.lineno}: {called}"
        for called, node in calls(source)
        if called in SHELLS
        or any(each.arg == "shell" and ast.unparse(each.value) != "False" for each in node.keywords)
    ]


def to_google(source: str) -> list[tuple[str, bool]]:
    """Return the calls that go to Google, and whether each says how long it may take."""
    found = []
    for called, node in calls(source):
        asked, _, method = called.rpartition(".")
        is_download = method.startswith("download_")
        is_client = asked.rpartition(".")[2] in CLIENTS and method not in LOCAL_METHODS
        if is_download or is_client:
            found.append((f"{node.lineno}: {called}", any(map(is_limit, node.keywords))))
    return found


def is_limit(keyword: ast.keyword) -> bool:
    """Tell whether a keyword sets a limit of time."""
    return keyword.arg == "timeout" or (
        keyword.arg is None and ast.unparse(keyword.value) in LIMITS
    )


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_no_text_ever_becomes_a_command_line(path: Path) -> None:
    """Programs are called with a list of words, on hosts and on people's machines."""
    assert [] == through_a_shell(path.read_text("utf-8"))


@pytest.mark.parametrize("path", ADAPTERS, ids=name)
def test_every_call_to_google_says_how_long_it_may_take(path: Path) -> None:
    """The libraries' own defaults are minutes, or for ever."""
    found = to_google(path.read_text("utf-8"))

    assert [] == [call for call, has_limit in found if not has_limit]
    assert (path.name in GOOGLE) <= bool(found)


@pytest.mark.parametrize("limit", LIMITS)
def test_what_stands_for_a_limit_is_one(limit: str) -> None:
    """In seconds."""
    assert LIMITS[limit]["timeout"] > 0


def test_a_shell_and_a_call_without_a_limit_would_be_seen() -> None:
    """Else the rules above could not fail."""
    assert 2 == len(through_a_shell("import os\nos.system(x)\nrun(x, shell=True)\n"))
    assert [("1: self._client.get_node", False)] == to_google("self._client.get_node(name=n)\n")
