"""The Firestore console is the status page: every document says what it is, and no secret."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.app.relay import outbox_write
from shared.core.instances import instance_of
from shared.core.mandates import attempt_token, bid_token
from shared.ports import Message
from shared.topology import Topic
from tests.audit_entries import PREEMPTED, as_message, vm_entry
from tests.fake_webhooks import FakeWebhooks
from tests.unit.app.records import JOB
from tests.unit.app.world import World, grant_of

SENTENCE_CHARS_MAX = 400
# The timeline's sentence is its text.
SAID_AS_TEXT = {"jobs/*/timeline", "slices/*/timeline"}
# What can be in the Store, by collection; a new one belongs here, and in docs/operate.md.
KINDS = {
    "commands",
    "control",
    "grants",
    "instances",
    "jobs",
    "jobs/*/attempts",
    "jobs/*/timeline",
    "ledger",
    "outbox",
    "owners",
    "parked",
    "rate",
    "slices",
    "slices/*/hosts",
    "told",
    "webhooks",
}


def documents(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """Read everything that the state file holds."""
    with sqlite3.connect(folder / "state.db") as connection:
        rows = connection.execute("SELECT path, fields FROM documents").fetchall()
    return {path: json.loads(text) for path, text in rows}


def kind_of(path: str) -> str:
    """Name the collection of a path, whatever the documents above it are called."""
    parts = path.split("/")[:-1]
    return "/".join(part if number % 2 == 0 else "*" for number, part in enumerate(parts))


@pytest.fixture
def told(world: World, tmp_path: Path) -> Mapping[str, Mapping[str, Any]]:
    """Let everything happen that leaves documents, and return them."""
    world.app = replace(world.app, webhooks=FakeWebhooks())
    world.order("grant-add", grant_of())
    world.run_job()
    late = world.hosts[0].snapshot()
    vm = instance_of(json.loads(late.data)["hostname"])
    world.publish(Topic.AUDIT, as_message(vm_entry(PREEMPTED, vm, world.clock.now())))
    world.tick_until(world.runs_attempt(1))
    world.publish(Topic.REPORTS, of_a_generation_that_was_never_made(world, late))
    world.finish_job()
    world.tick_until_quiet()
    # Written, and not published by whoever wrote it.
    world.store.commit(
        [outbox_write(("outbox/x-1", Topic.ALERTS, Message(b"{}")), world.clock.now())]
    )
    return documents(tmp_path)


def of_a_generation_that_was_never_made(world: World, snapshot: Message) -> Message:
    """Change a snapshot and sign it well, as after a restored database."""
    words = {**json.loads(snapshot.data), "generation": 99}
    words["tokens"]["bid"] = bid_token(world.app.secret, words["slice_uid"], 99, words["bid"])
    return Message(json.dumps(words).encode(), snapshot.attributes)


def test_every_kind_of_document_was_seen(told: Mapping[str, Mapping[str, Any]]) -> None:
    """Otherwise the tests below prove nothing of it."""
    assert KINDS == {kind_of(path) for path in told}


def test_every_document_says_what_it_is(told: Mapping[str, Mapping[str, Any]]) -> None:
    """In a sentence of one line."""
    for path, fields in told.items():
        sentence = fields["text" if kind_of(path) in SAID_AS_TEXT else "summary"]
        assert isinstance(sentence, str), path
        assert 0 < len(sentence) <= SENTENCE_CHARS_MAX, path
        assert "\n" not in sentence, path


def test_field_names_are_words(told: Mapping[str, Mapping[str, Any]]) -> None:
    """That can be read, and typed into a filter; zones are named as Google names them."""
    for path, fields in told.items():
        for name in fields:
            assert re.fullmatch(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*", name), f"{path}: {name}"


def test_no_document_holds_a_secret(world: World, told: Mapping[str, Mapping[str, Any]]) -> None:
    """Whoever may look at a job must not be able to speak for its hosts."""
    text = json.dumps(told)
    uid = world.slice().uid
    secrets = [attempt_token(world.app.secret, JOB, number) for number in range(3)]
    secrets += [bid_token(world.app.secret, uid, number, "0") for number in (1, 2, 3, 99)]

    assert world.app.secret.decode() not in text
    for secret in secrets:
        assert secret not in text
