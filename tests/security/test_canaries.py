"""Secrets stand where they must, and nowhere else: whatever happens, and whoever makes mistakes."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests.exceptions
from google.api_core import exceptions as api
from google.auth import exceptions as auth

from shared.adapters.google_errors import failure_of
from shared.adapters.tpu_errors import describe
from shared.core.mandates import attempt_token, bid_token
from shared.core.stages import Stage
from shared.errors import ControlPlaneError
from shared.ports import Message
from shared.topology import DEAD_LETTER_SUBSCRIPTION
from tests.agents import forged
from tests.identities import EVE
from tests.security.canaries import (
    ACCESS,
    ENV_VALUE,
    LATER_UID,
    SECRET,
    UID,
    CanaryWorld,
    both_logs,
    met,
)
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, spec_of
from tests.webhook_servers import Heard, serving, status

SLICE_WORDS = {"job": JOB, "spec": spec_of(env={"KEY": ENV_VALUE}), "slice_uid": UID}
# Everywhere that each may stand; docs/security.md says who can read there. Tokens of reports are
# in what agents say, and in the orders that agents get them by; the story puts both kinds of
# tokens into dead letters, as Pub/Sub would.
MAY_STAND = {
    ("bid token", "object in control/mandates"),
    ("bid token", "topic reports"),
    ("bid token", "topic dead-letters"),
    ("attempt token", "object in control/mandates"),
    ("attempt token", "topic reports"),
    ("attempt token", "topic dead-letters"),
    ("id token", "topic commands"),
    ("id token", "topic dead-letters"),
    ("value of env", "topic commands"),
    ("value of env", "document of jobs"),
}
LAST_BID = bid_token(SECRET.encode(), UID, 1, "0")
ATTEMPT = attempt_token(SECRET.encode(), JOB, 0)


@pytest.fixture
def heard() -> Iterator[tuple[str, Heard]]:
    """Serve a webhook."""
    with serving(status(204)) as served:
        yield served


@pytest.fixture
def world(tmp_path: Path, heard: tuple[str, Heard]) -> Iterator[CanaryWorld]:
    """Make an installation that tells the webhook everything."""
    made = CanaryWorld(tmp_path, heard[0])
    yield made
    made.close()


def live_through_everything(world: CanaryWorld) -> None:
    """Submit, lose, fail, be refused, be poisoned, end: with secrets in every message."""
    world.say("submit", SLICE_WORDS, world.token())
    world.tick_until(world.runs_attempt(0))
    orders_that_are_refused(world)
    messages_that_are_parked(world)
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    world.hosts[0].checkpoint(10)
    world.hosts[0].finish(1)
    world.tick_until(world.runs_attempt(2))
    world.say("stop", {"job": JOB}, world.token())
    world.tick_until(world.stands_at(Stage.CANCELLED))
    world.say("resume", {"job": JOB, "seen_attempt": 2, "slice_uid": LATER_UID}, world.token())
    world.tick_until(world.runs_attempt(3))
    world.farm.each(lambda host: host.finish(0))
    world.tick_until(world.stands_at(Stage.SUCCEEDED))
    world.tick_until_quiet()


def orders_that_are_refused(world: CanaryWorld) -> None:
    """By another's token, a forged one, one too late, and for a spec that is wrong."""
    for token in (world.token(EVE), world.token(by="theirs"), world.token(exp=1, iat=0)):
        world.say("stop", {"job": JOB}, token)
    wrong = spec_of(env={"KEY": ENV_VALUE, "": ENV_VALUE, "TPUCTL_X": ENV_VALUE})
    world.say("submit", {**SLICE_WORDS, "job": OTHER_JOB, "spec": wrong}, world.token())
    wrong = spec_of(env={"KEY": [ENV_VALUE]})
    world.say("submit", {**SLICE_WORDS, "job": OTHER_JOB, "spec": wrong}, world.token())


def messages_that_are_parked(world: CanaryWorld) -> None:
    """Orders and snapshots with their tokens, at once and as dead letters; cut off, and escaped."""
    order = {"version": 1, "id": "x", "kind": "explode", "id_token": world.token()}
    report = world.hosts[0].snapshot()
    texts = {
        "commands": [json.dumps(order).encode(), json.dumps(json.dumps(order)).encode()[:-20]],
        "reports": [
            forged(report, version=9).data,
            forged(report, generation=7).data,
            json.dumps({"text": report.data.decode()}).encode(),
            report.data[:-5],
        ],
    }
    for topic, datas in texts.items():
        for data in datas:
            mistake = world.token() if topic == "commands" else ATTEMPT
            world.publish(topic, Message(data, {"kind": "snapshot", "mistake": mistake}))
            dead = {DEAD_LETTER_SUBSCRIPTION: "report", "was": LAST_BID, "and": ATTEMPT}
            world.publish("dead-letters", Message(data, dead))


def test_every_secret_stands_where_it_must_and_nowhere_else(
    world: CanaryWorld, heard: tuple[str, Heard]
) -> None:
    """Documents, objects, messages, requests to the cloud, posts of webhooks, and both logs."""
    with both_logs() as (lines, text):
        live_through_everything(world)

    places = [*world.places(heard[1]), ("log", lines.text), ("log", text.getvalue())]
    assert MAY_STAND == met(world, places)
    assert {name for name, _ in places} > {
        "document of parked",
        "document of timeline",
        "document of told",
        "document of commands",
        "header of the webhook",
        "request to the cloud",
        "topic alerts",
        "topic launches",
        "webhook",
    }
    assert len(lines.all) > 20
    assert [] != heard[1].bodies


@pytest.mark.parametrize("place", ["create", "delete", "get", "list", "put"])
def test_an_error_nobody_thought_of_takes_no_secret_along(
    world: CanaryWorld, heard: tuple[str, Heard], place: str
) -> None:
    """A bug's text and stack are logged, and quote what they like."""
    words = f"400 for Authorization: Bearer {ACCESS}, {SECRET}, {LAST_BID}, {ATTEMPT}, "
    plan = world.blobs.plan if place == "put" else world.slices.plan
    with both_logs() as (lines, text):
        plan.fail_next(place, RuntimeError(words + world.token()))  # type: ignore[arg-type]
        world.say("submit", SLICE_WORDS, world.token())
        tick_whatever_happens(world)
        world.say("stop", {"job": JOB, "kill": True}, world.token())
        tick_whatever_happens(world)

    places = [*world.places(heard[1]), ("log", lines.text), ("log", text.getvalue())]
    assert set() == met(world, places) - MAY_STAND
    assert "RuntimeError: 400 for Authorization: [secret]" in text.getvalue()


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(api.InvalidArgument, id="of the API"),
        pytest.param(auth.RefreshError, id="of the login"),
        pytest.param(requests.exceptions.ConnectionError, id="of the network"),
    ],
)
def test_what_google_says_is_kept_without_secrets(
    error: Callable[..., Exception],
) -> None:
    """The text of a refusal stands in documents, timelines and alerts."""
    failure = failure_of(error(f"refused: Bearer {ACCESS} {ATTEMPT} for v4-16"))

    assert "refused: [secret] [secret] for v4-16" == failure.text
    assert "UNAVAILABLE: no [secret]" == describe(14, f"no {ATTEMPT}")


def tick_whatever_happens(world: CanaryWorld) -> None:
    """Tick as the scheduler does, to which an error is a status."""
    for _ in range(5):
        try:
            world.tick(5.0)
        except (ControlPlaneError, RuntimeError):
            logging.getLogger("tpuctl.tick").exception("the tick failed")


def test_a_secret_would_be_found(world: CanaryWorld, heard: tuple[str, Heard]) -> None:
    """In each kind of place; else the tests above could not fail."""
    world.say("submit", SLICE_WORDS, world.token())
    leaks = [(place, f"{text} {SECRET}") for place, text in world.places(heard[1])]

    assert {("secret", place) for place, _ in leaks} <= met(world, leaks)
    assert 6 <= len(world.canaries)
