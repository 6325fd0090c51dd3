"""The protocol page says what the code sends and stores: messages, documents, commands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields as fields_in
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel

from shared.adapters.sqlite_store import SqliteStore
from shared.app import orphans
from shared.app.health_check import TICK, _canary, _Tick
from shared.app.messages import MessageKind, wake_launch, wake_recovery
from shared.app.order_args import (
    AgainArgs,
    GrantAddArgs,
    GrantRemoveArgs,
    ParkedRetryArgs,
    PauseArgs,
    ReleaseArgs,
    SliceAdoptArgs,
    SliceCreateArgs,
    StopArgs,
    SubmitArgs,
    SweepArgs,
    UnpauseArgs,
)
from shared.app.silence import CANARY
from shared.core.alerts import alert_of, fields_of
from shared.core.cloud import CloudRequest
from shared.core.mandates import CONFIG_VERSION, MANDATE_VERSION
from shared.core.names import cloud_name, labels
from shared.core.orders import COMMAND_VERSION, OrderKind, Outcome
from shared.core.situation import Note
from shared.core.snapshot import Snapshot
from shared.errors import RateLimited
from shared.host import agent
from shared.ports import Delete, Message, Write
from shared.topology import SUBSCRIPTIONS, Topic
from tests.fake_webhooks import FakeWebhooks
from tests.unit.app.world import World, grant_of
from tests.unit.core.situations import START, running
from tests.unit.docs.tables import fields, page, rows, words

PAGE = page("protocol.md")
ARGS: Mapping[OrderKind, type[BaseModel]] = {
    OrderKind.SUBMIT: SubmitArgs,
    OrderKind.STOP: StopArgs,
    OrderKind.RESUME: AgainArgs,
    OrderKind.RERUN: AgainArgs,
    OrderKind.RELEASE: ReleaseArgs,
    OrderKind.SLICE_CREATE: SliceCreateArgs,
    OrderKind.SLICE_RECREATE: ReleaseArgs,
    OrderKind.SLICE_RESTART: ReleaseArgs,
    OrderKind.SLICE_ADOPT: SliceAdoptArgs,
    OrderKind.GRANT_ADD: GrantAddArgs,
    OrderKind.GRANT_REMOVE: GrantRemoveArgs,
    OrderKind.PAUSE: PauseArgs,
    OrderKind.UNPAUSE: UnpauseArgs,
    OrderKind.SWEEP: SweepArgs,
    OrderKind.PARKED_RETRY: ParkedRetryArgs,
}


def test_the_versions_are_those_of_the_code() -> None:
    """Both sides of every schema speak the version on the page."""
    (line,) = re.findall(r"^Versions: (.*)\.$", PAGE, re.MULTILINE)
    snapshot = Snapshot.model_fields["version"].annotation

    spoken = {
        "mandate": MANDATE_VERSION,
        "snapshot": agent.PROTOCOL_VERSION,
        "command": COMMAND_VERSION,
        "agent config": CONFIG_VERSION,
    }

    assert spoken == {
        name: int(number) for name, number in re.findall(r"(\w[\w ]*) \*\*(\d)", line)
    }
    assert "typing.Literal[1]" == str(snapshot)


def test_topics_and_their_consumers_are_those_of_the_deployment() -> None:
    """Every topic is on the page, with the function that its subscription wakes."""
    consumers = {words(row[0])[0]: row[3] for row in rows(PAGE, "topic", "carries")}
    subscribed = {each.topic: each.function for each in SUBSCRIPTIONS}

    assert set(Topic) == set(consumers)
    assert subscribed == consumers


class _Heard:
    """A bus and a cloud that keep what was published."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Message]] = []
        self.installation = "abc123"
        self.bus = self

    def publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Keep messages."""
        self.sent += [(topic, message) for message in messages]


def sent() -> dict[str, tuple[str, list[str]]]:
    """Let the code send each internal message once: its topic and fields, by kind."""
    app = _Heard()
    for wake in (wake_launch("s", "r"), wake_recovery("s", "r", look=True)):
        app.publish(wake.topic, [wake.message()])
    named = labels(app.installation, "slice001", 1, "0")
    name = cloud_name(app.installation, "slice001", 1, "0")
    stray = CloudRequest(name, "z", "ACTIVE", "", "", (), named)
    orphans.report_orphans(app, [stray], [])  # type: ignore[arg-type]
    _canary(app, _Tick(START))  # type: ignore[arg-type]
    kinds = {
        message.attributes["kind"]: (str(topic), list(json.loads(message.data)))
        for topic, message in app.sent
    }
    alert = alert_of(Note("e", "t", public=True), running())
    kinds["alert"] = ("alerts", list(fields_of(alert)))
    return kinds


def test_events_carry_the_fields_that_they_are_said_to_carry() -> None:
    """Nothing more either: what could be believed is not in them."""
    table = {
        words(row[1])[0]: (words(row[2])[0], words(row[3])) for row in rows(PAGE, "event", "kind")
    }
    made = sent()

    assert set(MessageKind) == set(table)
    for kind, (topic, names) in table.items():
        if names:
            assert (topic, sorted(names)) == (made[kind][0], sorted(made[kind][1]))
    assert {"command", "snapshot"} == set(table) - set(made)


def test_every_document_is_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A life that meets everything writes documents of every kind, and of no other."""
    written: set[str] = set()
    commit = SqliteStore.commit

    def recording(store: SqliteStore, writes: Sequence[Write]) -> None:
        written.update(write.path for write in writes if not isinstance(write, Delete))
        commit(store, writes)

    monkeypatch.setattr(SqliteStore, "commit", recording)
    live(World(tmp_path))
    templates = [words(row[0])[0] for row in rows(PAGE, "document", "written by")]
    patterns = {each: re.compile(re.sub(r"\{\w+\}", "[^/]+", each)) for each in templates}

    used = {each for each in templates if any(patterns[each].fullmatch(path) for path in written)}

    assert [] == [path for path in written if not _is_known(path, list(patterns.values()))]
    assert set(templates) == used
    assert {TICK, CANARY} <= set(templates)


def live(world: World) -> None:
    """Let a job fail on a slice that is held for a while; say something senseless on the way."""
    world.app = replace(world.app, webhooks=FakeWebhooks())
    world.order("pause", {"reason": "a look at the bill"})
    world.order("unpause", {})
    world.slices.fail_next("create", RateLimited("too many requests"))
    world.run_job(hold_s=5.0)
    world.slices.unreachable = {world.bid.zone}
    world.tick()
    world.slices.unreachable = set()
    world.publish("reports", Message(b"nonsense", {"kind": "snapshot"}))
    world.hosts[1].is_mute = True
    world.ticks(world.policy.canary_s + world.policy.silent_host_s)
    world.finish_job(1)
    world.tick_until_quiet()
    world.order("grant-add", grant_of())
    world.close()


def _is_known(path: str, patterns: list[re.Pattern[str]]) -> bool:
    return any(pattern.fullmatch(path) for pattern in patterns)


def test_the_metadata_of_a_node_are_the_attributes_on_the_page(tmp_path: Path) -> None:
    """What is asked for with the create, no more and no less."""
    world = World(tmp_path)
    world.submit()

    asked = world.slices.asked(world.bid.name).metadata
    world.close()

    assert list(asked) == [words(row[0])[0] for row in rows(PAGE, "attribute", "what it is")]


def test_commands_take_the_arguments_on_the_page() -> None:
    """Every kind, and every argument of it in the order of the code."""
    table = {words(row[0])[0]: words(row[1]) for row in rows(PAGE, "kind", "args")}

    assert {kind: list(args.model_fields) for kind, args in ARGS.items()} == table


def test_every_argument_of_commands_is_explained() -> None:
    """No more, no fewer."""
    known = {name for args in ARGS.values() for name in args.model_fields}

    assert known == set(fields(rows(PAGE, "argument", "type")))


def test_the_outcome_of_a_command_holds_what_is_said() -> None:
    """The document's fields stand in one sentence."""
    (sentence,) = re.findall(r"^The outcome stands in (.*)$", PAGE, re.MULTILINE)
    named = [word for word in words(sentence) if word not in {"accepted", "refused"}]

    assert ["commands/{id}", *(field.name for field in fields_in(Outcome))] == named
