"""The files of ``infra/`` keep to the rules that terraform itself does not know."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hcl2.api as hcl2
import pytest

from tests.infra.plans import INFRA, ROOT, TOPOLOGY

FILES = sorted(INFRA.rglob("*.tf"))
MODULES = sorted({path.parent for path in FILES})
LINES_MAX = 300
# They stand in for what their module makes, once, wherever it is used.
IN_MODULES = {
    "google_pubsub_subscription": "subscription",
    "google_cloudfunctions2_function": "function",
}


def name(path: Path) -> str:
    """Name a file or folder in a table of cases."""
    return path.relative_to(INFRA).as_posix()


@cache
def read(path: Path) -> dict[str, Any]:
    """Parse a file."""
    return hcl2.loads(path.read_text("utf-8"))


def blocks(folder: Path, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the blocks of one kind in a folder, by name, in their order."""
    for path in sorted(folder.glob("*.tf")):
        for block in read(path).get(kind, []):
            yield from block.items()


def resources(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the resources of a file as (type, body)."""
    for block in read(path).get("resource", []):
        for type_, named in block.items():
            yield from ((type_, body) for body in named.values())


@pytest.mark.parametrize("folder", MODULES, ids=name)
@pytest.mark.parametrize("kind", ["variable", "output"])
def test_variables_and_outputs_are_described_and_in_order(folder: Path, kind: str) -> None:
    """A reader finds each, and learns what it is for."""
    found = list(blocks(folder, kind))

    assert sorted(each for each, _ in found) == [each for each, _ in found]
    assert [] == [
        each for each, body in found if not str(body.get("description", "")).endswith(".")
    ]


@pytest.mark.parametrize("folder", MODULES, ids=name)
def test_variables_have_a_type(folder: Path) -> None:
    """What is written wrongly is refused where it is written."""
    untyped = [each for each, body in blocks(folder, "variable") if "type" not in body]

    assert [] == untyped


@pytest.mark.parametrize("folder", MODULES, ids=name)
def test_the_provider_is_the_same_everywhere(folder: Path) -> None:
    """One version of one provider."""
    text = (folder / "versions.tf").read_text("utf-8")

    assert (INFRA / "versions.tf").read_text("utf-8") == text


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_file_is_short(path: Path) -> None:
    """One entity a file."""
    assert len(path.read_text("utf-8").splitlines()) <= LINES_MAX


@pytest.mark.parametrize("path", FILES, ids=name)
def test_only_resources_of_google_that_are_not_random(path: Path) -> None:
    """The same source makes the same names."""
    foreign = [type_ for type_, _ in resources(path) if not type_.startswith("google_")]

    assert [] == foreign


@pytest.mark.parametrize("path", FILES, ids=name)
def test_subscriptions_and_functions_are_made_by_their_modules_alone(path: Path) -> None:
    """So none is without what it needs to be trusted."""
    found = {type_ for type_, _ in resources(path)} & IN_MODULES.keys()

    assert set() == {type_ for type_ in found if path.parent.name != IN_MODULES[type_]}


@pytest.mark.parametrize("path", FILES, ids=name)
def test_nobody_unnamed_is_written_anywhere(path: Path) -> None:
    """Not even as a default."""
    text = path.read_text("utf-8")

    assert "allUsers" not in text
    assert "allAuthenticatedUsers" not in text


@pytest.mark.parametrize("path", FILES, ids=name)
def test_counts_are_for_what_is_there_or_not(path: Path) -> None:
    """Several of a kind have keys: removing one must not rename the others."""
    counts = [str(body["count"]) for _, body in resources(path) if "count" in body]

    assert [] == [each for each in counts if not re.search(r"\?\s*1\s*:\s*0", each)]


def test_the_topology_is_the_only_list_of_its_names() -> None:
    """Functions and subscriptions come from where every wiring has them from."""
    modules = {
        each: body["for_each"] for folder in (INFRA,) for each, body in blocks(folder, "module")
    }

    assert modules["function"] == "${local.topology.functions}"
    assert modules["subscription"] == "${local.topology.subscriptions}"


def test_every_function_says_where_it_publishes() -> None:
    """A new function in the topology needs a line here, or it could publish nothing."""
    locals_ = (body for _, body in _locals())
    publishers = next(body["_publishers"] for body in locals_ if "_publishers" in body)

    assert sorted(json.loads(TOPOLOGY.read_text("utf-8"))["functions"]) == sorted(publishers)


def test_the_example_sets_only_variables_that_exist() -> None:
    """Whoever copies it gets no warning."""
    example = read(INFRA / "terraform.tfvars.example")

    assert set(example) <= {each for each, _ in blocks(INFRA, "variable")}


def test_every_skip_of_a_scan_has_a_reason() -> None:
    """Written beside it, in words."""
    skips = [
        line
        for path in FILES
        for line in path.read_text("utf-8").splitlines()
        if "checkov:skip" in line
    ]

    assert [] == [line for line in skips if not re.search(r"skip=CKV\w+: \w+ \w+ \w+", line)]
    assert 1 <= len(skips)


def test_the_scanner_is_pinned_and_names_no_address() -> None:
    """Any mirror can serve it, and nobody can change it."""
    text = (INFRA / "checkov.lock").read_text("utf-8")
    packages = re.findall(r"^[a-z0-9._-]+==", text, re.MULTILINE)

    assert "://" not in text
    assert len(packages) <= text.count("--hash=sha256:")


def test_nothing_of_a_deployment_is_committed() -> None:
    """State and variables hold names of somebody's project."""
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()

    assert {".terraform/", "*.tfstate*", "*.tfvars"} <= set(ignored)


def _locals() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in FILES:
        yield from ((name(path), block) for block in read(path).get("locals", []))
