"""A new version takes over in the middle of a recovery: what the old one left is finished.

``recovering-0.1.json`` was recorded from version 0.1: a slice was just seen to be preempted, the
next generation is decided and not asked for yet, its messages are not delivered, and the agents
of the old generation have something left to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from shared.adapters.sqlite_codec import decode
from shared.core.causes import Cause
from shared.core.stages import Stage
from shared.ports import Create, Message
from shared.topology import Topic
from tests.unit.app.world import World

RECORDED: Final = Path(__file__).parents[2] / "data" / "recovering-0.1.json"


@pytest.fixture
def recorded() -> Mapping[str, Any]:
    """Give what version 0.1 left."""
    found: dict[str, Any] = json.loads(RECORDED.read_text("utf-8"))
    return found


@pytest.fixture
def upgraded(world: World, recorded: Mapping[str, Any]) -> World:
    """Give an installation of this version over the documents and objects of the old one."""
    world.clock.advance(
        (datetime.fromisoformat(recorded["at"]) - world.clock.now()).total_seconds()
    )
    for path, fields in recorded["documents"].items():
        world.store.commit([Create(path, decode(json.dumps(fields)))])
    for name, text in recorded["blobs"].items():
        world.blobs.put(name, text.encode())
    return world


def messages(recorded: list[Mapping[str, Any]]) -> list[Message]:
    """Read recorded messages."""
    return [Message(each["data"].encode(), each["attributes"]) for each in recorded]


def publish_what_waited(world: World, recorded: Mapping[str, Any]) -> None:
    """Deliver what the old version published, and what its agents say late."""
    for each in recorded["messages"]:
        world.bus.publish(each["topic"], messages([each]))
    world.bus.publish(Topic.REPORTS, messages(recorded["snapshots"]))
    world.drain()


def test_a_recovery_goes_on_where_the_old_version_left_it(
    upgraded: World, recorded: Mapping[str, Any]
) -> None:
    """One new generation, the next attempt, and the job ends well."""
    publish_what_waited(upgraded, recorded)
    upgraded.tick_until(upgraded.runs_attempt(1))
    upgraded.finish_job()

    assert Stage.SUCCEEDED is upgraded.job().stage
    assert 2 == upgraded.slice().generation
    assert [Cause.PREEMPTED, Cause.SUCCEEDED] == [each.cause for each in upgraded.attempts()]
    assert [] == upgraded.all("parked")


def test_messages_of_the_old_version_may_be_lost(upgraded: World) -> None:
    """The tick finds everything in the documents."""
    upgraded.tick_until(upgraded.runs_attempt(1))

    assert 2 == upgraded.slice().generation


def test_old_messages_may_come_twice_and_late(upgraded: World, recorded: Mapping[str, Any]) -> None:
    """After the recovery they are about the past."""
    upgraded.tick_until(upgraded.runs_attempt(1))
    before = upgraded.slice().generation
    publish_what_waited(upgraded, recorded)
    publish_what_waited(upgraded, recorded)
    upgraded.ticks(10.0)

    assert before == upgraded.slice().generation
    assert Stage.RUNNING is upgraded.job().stage
    assert [] == upgraded.all("parked")


def test_reports_of_old_agents_are_believed(upgraded: World, recorded: Mapping[str, Any]) -> None:
    """Agents live for weeks: theirs is the version they were started with."""
    *_, newest = messages(recorded["snapshots"])
    old = upgraded.fields("slices/digits-1/hosts/g1-b0-1")
    upgraded.publish(Topic.REPORTS, newest)

    now = upgraded.fields("slices/digits-1/hosts/g1-b0-1")
    sequence = json.loads(newest.data)["sequence"]
    assert sequence == now["sequence"]
    assert old["sequence"] < sequence
    assert [] == upgraded.all("parked")
