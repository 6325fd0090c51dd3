"""Firestore's own emulator with the rules of a deployment: servers alone get in, anywhere."""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli import emulators as started
from shared.topology import INDEXES
from tests.emulators import Emulators, start
from tests.security.scan import ROOT

pytestmark = pytest.mark.slow

RULES = ROOT / "infra" / "firestore.rules"
# Written by the use cases; those that are searched by several fields stand in the topology.
COLLECTIONS = sorted(
    {
        *("commands", "control", "grants", "instances", "jobs", "ledger", "outbox", "owners"),
        *("parked", "rate", "slices", "told", "webhooks"),
        *("jobs/a/attempts", "jobs/a/timeline", "slices/a/hosts"),
        *(re.sub(r"\{\w+\}|\*", "a", index.collection) for index in INDEXES),
        "whatever",
    }
)
FIELDS = {"fields": {"owner": {"stringValue": "ada"}}}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, by the token they bring; none for a stranger."""

    documents: str
    token: str = ""

    def status(self, method: str, path: str, body: object = None) -> int:
        """Ask Firestore's REST API; return the HTTP status."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.documents}{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def statuses(self, collection: str) -> dict[str, int]:
        """Try everything that can be tried with a collection."""
        name = self.documents.partition("/v1/")[2] + f"/{collection}/x"
        parent, _, last = f"/{collection}".rpartition("/")
        query = {"structuredQuery": {"from": [{"collectionId": last}]}}
        write = {"writes": [{"update": {"name": name, **FIELDS}}]}
        return {
            "create": self.status("POST", f"/{collection}?documentId=x", FIELDS),
            "read": self.status("GET", f"/{collection}/x"),
            "list": self.status("GET", f"/{collection}"),
            "query": self.status("POST", f"{parent}:runQuery", query),
            "update": self.status("PATCH", f"/{collection}/x", FIELDS),
            "commit": self.status("POST", ":commit", write),
            "batch get": self.status("POST", ":batchGet", {"documents": [name]}),
            "delete": self.status("DELETE", f"/{collection}/x"),
        }


@pytest.fixture(scope="module")
def denying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulators]:
    """Give emulators whose Firestore has the rules of a deployment."""
    folder = tmp_path_factory.mktemp("denying")
    try:
        yield start(folder, RULES)
    finally:
        started.down(folder)


@pytest.fixture
def documents(denying: Emulators, cloud_project: str) -> str:
    """Give the address of a project's documents."""
    return f"http://{denying.firestore}/v1/projects/{cloud_project}/databases/(default)/documents"


def user_token(project: str) -> str:
    """Make a token of somebody who is logged in, as the emulator believes it: unsigned."""
    said = {
        "iss": f"https://securetoken.google.com/{project}",
        "aud": project,
        "sub": "ada",
        "user_id": "ada",
        "email": "ada@example.com",
        "email_verified": True,
        "iat": 1,
        "exp": 2**31,
        "firebase": {"identities": {}, "sign_in_provider": "google.com"},
    }
    parts = [{"alg": "none", "typ": "JWT"}, said]
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(p).encode()).decode() for p in parts), ""]
    )


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_nobody_but_servers_reads_or_writes_anything(
    documents: str, cloud_project: str, collection: str
) -> None:
    """A stranger and a user of the project's own login are refused whatever they try."""
    owner = Caller(documents, "owner").statuses(collection)
    Caller(documents, "owner").status("PATCH", f"/{collection}/x", FIELDS)
    stranger = Caller(documents).statuses(collection)
    user = Caller(documents, user_token(cloud_project)).statuses(collection)

    assert {200} == set(owner.values()), owner
    assert {403} == set(stranger.values()), stranger
    assert {403} == set(user.values()), user


def test_rules_that_allow_something_would_be_seen(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, cloud_project: str
) -> None:
    """The user's token is one that the emulator believes."""
    rules = tmp_path / "firestore.rules"
    rules.write_text(RULES.read_text("utf-8").replace("if false", "if request.auth != null"))
    folder = tmp_path_factory.mktemp("allowing")
    try:
        address = start(folder, rules).firestore
        documents = f"http://{address}/v1/projects/{cloud_project}/databases/(default)/documents"
        user = Caller(documents, user_token(cloud_project)).statuses("jobs")
        stranger = Caller(documents).statuses("jobs")
    finally:
        started.down(folder)

    assert ({200}, {403}) == (set(user.values()), set(stranger.values()))
