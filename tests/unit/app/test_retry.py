"""A parked message is handed over again: an order as its giver's, an event on its topic."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from shared.app import push
from shared.app.messages import MessageKind, alert_message, message, wake_launch, wake_recovery
from shared.core.alert_kinds import AlertKind
from shared.core.alerts import installation_alert
from shared.core.names import cloud_name, labels
from shared.core.orders import Outcome
from shared.core.stages import Stage
from shared.errors import Unavailable
from shared.ports import Delivery, Fields, Message, Query
from shared.topology import DEAD_LETTER_ATTEMPTS, DEAD_LETTER_SUBSCRIPTION, Topic
from tests.identities import ADA, EVE
from tests.unit.app.records import JOB
from tests.unit.app.signed import ROOT, Cloud
from tests.unit.app.test_orphans import OURS, put_in_cloud
from tests.unit.app.world import OWNER, ZONE, World, spec_of

STOP = {"version": 1, "id": "late", "kind": "stop", "owner": OWNER, "args": {"job": JOB}}


def park(world: World, subscription: str, told: Message) -> str:
    """Let a message use up its attempts; return the key of its document."""
    attributes = {
        **told.attributes,
        DEAD_LETTER_SUBSCRIPTION: f"tpuctl-{subscription}",
        DEAD_LETTER_ATTEMPTS: "100",
    }
    before = {path for path, _ in parked(world)}
    world.publish(Topic.DEAD_LETTERS, Message(told.data, attributes))
    ((path, _),) = [each for each in parked(world) if each[0] not in before]
    return path.rpartition("/")[2]


def parked(world: World) -> list[tuple[str, Fields]]:
    """Read what is parked."""
    return documents(world, "parked")


def retry(world: World, key: str) -> Outcome:
    """Ask for a parked message to be handed over again."""
    return world.outcome(world.order("parked-retry", {"key": key}))


def command(**changes: Any) -> Message:
    """Write an order as the command line does."""
    return Message(json.dumps({**STOP, **changes}).encode(), {"kind": "command"})


# --- Orders -------------------------------------------------------------------------------------


def test_an_order_that_nobody_handled_is_given_again(world: World) -> None:
    """Under a new id, in one commit with the mark of who asked for it."""
    world.run_job()
    key = park(world, "launch-commands", command())

    outcome = retry(world, key)

    world.tick_until(world.stands_at(Stage.CANCELLED))
    fields = world.fields(f"parked/{key}")
    assert ("accepted", "stop", 1) == (outcome.outcome, outcome.kind, outcome.number)
    assert (OWNER, outcome.id) == (fields["retried_by"], fields["retried_as"])
    assert fields["retried_at"] is not None
    assert None is world.store.get("commands/late")


def test_an_order_about_no_slice_is_given_again(world: World) -> None:
    """A sweep."""
    key = park(world, "launch-commands", command(kind="sweep", args={"zones": [ZONE]}))

    assert "accepted" == retry(world, key).outcome
    assert ZONE in world.fields("control/zones")
    assert OWNER == world.fields(f"parked/{key}")["retried_by"]


@pytest.mark.parametrize("again_as", ["late", ""])
def test_an_order_is_carried_out_once(world: World, again_as: str) -> None:
    """Whether it was carried out after all, or was given again before."""
    world.run_job()
    key = park(world, "launch-commands", command())
    if again_as:
        world.publish(Topic.COMMANDS, command())
    else:
        retry(world, key)

    assert "it was carried out already, for job 1" == retry(world, key).reason


def test_an_order_that_was_refused_may_be_given_again(world: World) -> None:
    """It came too late, and is still wanted."""
    world.run_job()
    key = park(world, "launch-commands", command())
    delivery = Delivery(
        "m-1", "launch-commands", Topic.COMMANDS, command(), world.clock.now(), attempt=1
    )
    world.clock.advance(world.policy.command_s + 1.0)
    push.receive(world.app, delivery)
    assert "refused" == world.outcome("late").outcome

    assert "accepted" == retry(world, key).outcome


def test_an_order_of_somebody_else_is_not_given_again(world: World) -> None:
    """Its token was removed: nothing proves any more that they want it."""
    world.run_job()
    key = park(world, "launch-commands", command(owner="eve"))

    outcome = retry(world, key)

    assert "it is an order of eve: nobody else can give it again" == outcome.reason
    assert "retried_at" not in world.fields(f"parked/{key}")
    assert Stage.RUNNING is world.job().stage


def test_what_nobody_can_read_is_refused_with_the_reason(world: World) -> None:
    """It is parked once, and not tried again and again."""
    key = park(world, "launch-commands", command(args={"job": "X"}))

    reason = retry(world, key).reason

    assert reason.startswith("nobody could read it, then or now: command: stop.args.job: ")
    assert 1 == len(world.all("parked"))


def test_a_retry_that_was_parked_itself_leads_to_the_message_it_was_about(world: World) -> None:
    """Or nobody would know any more whose order it was."""
    key = park(world, "launch-commands", command(kind="parked-retry", args={"key": "0" * 32}))

    assert f"it asked to retry {'0' * 32}: retry that one" == retry(world, key).reason


def test_nothing_is_parked_under_an_unknown_key(world: World) -> None:
    """It says so."""
    assert f"nothing is parked under {'0' * 32}" == retry(world, "0" * 32).reason


# --- Events -------------------------------------------------------------------------------------


def lost_unseen(world: World) -> None:
    """Have a slice that is preempted, which nobody was woken for."""
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.slices.suspend(world.bid.name)
    world.clock.advance(1.0)


def test_an_event_goes_to_its_topic_again(world: World) -> None:
    """And is handled there: recovery looks at the cloud."""
    lost_unseen(world)
    wake = wake_recovery(world.slice().name, "why", look=True)
    key = park(world, "recovery", wake.message())

    outcome = retry(world, key)

    assert "accepted" == outcome.outcome
    assert 2 == world.slice().generation
    assert OWNER == world.fields(f"parked/{key}")["retried_by"]


def test_an_orphan_is_found_again(world: World) -> None:
    """It carries nothing that needs proof."""
    name = cloud_name(OURS, "deadbeef", 1, "0")
    put_in_cloud(world, name, labels(OURS, "deadbeef", 1, "0"))
    key = park(world, "recovery", message(MessageKind.ORPHAN_FOUND, {"zone": ZONE, "name": name}))

    retry(world, key)

    assert () == world.slices.names


def test_an_event_is_published_as_it_was(world: World) -> None:
    """Without what the bus wrote on it, and with what it was before."""
    sent = heard(world)
    told = wake_launch("digits-1", "why").message()
    key = park(world, "launch", told)

    retry(world, key)

    ((topic, again),) = [each for each in sent if each[1].attributes.get("retry_of")]
    assert told.data == again.data
    assert (Topic.LAUNCHES, {**told.attributes, "retry_of": key[:16]}) == (topic, again.attributes)


def test_an_alert_is_told_again(world: World) -> None:
    """On the topic of alerts."""
    sent = heard(world)
    alert = installation_alert(
        AlertKind.CONTROL_PLANE_DEGRADED,
        key="k",
        at=world.clock.now(),
        event="Degraded",
        text="t",
        reason="r",
    )
    key = park(world, "alert", alert_message(alert))

    retry(world, key)

    assert [Topic.ALERTS] == [topic for topic, each in sent if each.attributes.get("retry_of")]


def test_an_event_that_fails_again_is_a_document_of_its_own(world: World) -> None:
    """Once for each time that it was sent; the newer one names the older."""
    key = park(world, "recovery", Message(b"junk", {"kind": "slice-due"}))

    retry(world, key)

    (newer,) = [fields for path, fields in parked(world) if path != f"parked/{key}"]
    assert {"kind": "slice-due", "retry_of": key[:16]} == newer["attributes"]


def test_an_event_outlives_a_bus_that_is_away(world: World) -> None:
    """It stands in the outbox of the commit that accepted the order."""
    lost_unseen(world)
    wake = wake_recovery(world.slice().name, "why", look=True)
    key = park(world, "recovery", wake.message())
    order = {"version": 1, "id": "r-1", "kind": "parked-retry", "owner": OWNER}
    told = Message(json.dumps({**order, "args": {"key": key}}).encode(), {"kind": "command"})
    delivery = Delivery("m-2", "launch-commands", Topic.COMMANDS, told, world.clock.now(), 1)
    publish, world.bus.publish = world.bus.publish, away  # type: ignore[method-assign,assignment]
    push.receive(world.app, delivery)
    world.bus.publish = publish  # type: ignore[method-assign]
    assert ["outbox/retry-r-1"] == [path for path, _ in documents(world, "outbox")]

    world.tick(2.0)

    assert [] == world.all("outbox")
    assert 2 == world.slice().generation


@pytest.mark.parametrize(
    "source, reason",
    [
        pytest.param("report", "a host's report lost its token", id="a report"),
        pytest.param("report-audit", "only Google writes to its audit log", id="the audit log"),
        pytest.param("strange", "this version knows no subscription", id="unknown"),
    ],
)
def test_what_cannot_be_sent_again_is_refused(world: World, source: str, reason: str) -> None:
    """With the reason; the command line says it before it asks."""
    outcome = retry(world, park(world, source, Message(b"{}")))

    assert outcome.reason.startswith(f"it cannot be sent again: {reason}")


# --- Who may ------------------------------------------------------------------------------------


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    """Make an installation that asks who gives an order."""
    made = Cloud(tmp_path)
    yield made
    made.close()


def told_by(cloud: Cloud, email: str, key: str) -> Mapping[str, object]:
    """Let somebody ask for a retry; return what became of it."""
    outcome = cloud.say("parked-retry", {"key": key}, cloud.token(email))
    return {"outcome": str(outcome.outcome), "reason": outcome.reason, "owner": outcome.owner}


@pytest.mark.parametrize("email, verdict", [(ADA, "refused"), (ROOT, "accepted")])
def test_only_an_admin_sends_events_again(cloud: Cloud, email: str, verdict: str) -> None:
    """They are the installation's, not somebody's."""
    key = park(cloud, "launch", wake_launch("digits-1", "why").message())

    told = told_by(cloud, email, key)

    assert verdict == told["outcome"]
    assert (email if verdict == "accepted" else None) == cloud.fields(f"parked/{key}").get(
        "retried_by"
    )


@pytest.mark.parametrize(
    "email, verdict",
    [
        pytest.param(ADA, "accepted", id="its giver"),
        pytest.param(EVE, "refused", id="another one"),
        pytest.param(ROOT, "refused", id="an admin: it is not their order"),
    ],
)
def test_only_its_giver_gives_an_order_again(cloud: Cloud, email: str, verdict: str) -> None:
    """Signed anew: the token that came with it is in no document."""
    args = {"job": JOB, "spec": spec_of(), "slice_uid": "uid00001"}
    told = command(kind="submit", owner="ada-example-com", args=args, id_token="eyJhbGciOiJ.a.b")
    key = park(cloud, "launch-commands", told)

    assert verdict == told_by(cloud, email, key)["outcome"]
    assert "eyJhbGciOiJ" not in str(cloud.fields(f"parked/{key}")["data"])
    if verdict == "accepted":
        assert ("ada-example-com", ADA) == (cloud.job().owner, cloud.job().owner_email)


# --- Hands --------------------------------------------------------------------------------------


def heard(world: World) -> list[tuple[str, Message]]:
    """Listen to everything that is published from now on."""
    sent: list[tuple[str, Message]] = []
    publish = world.bus.publish

    def listen(topic: str, messages: list[Message]) -> None:
        sent.extend((topic, each) for each in messages)
        publish(topic, messages)

    world.bus.publish = listen  # type: ignore[method-assign,assignment]
    return sent


def away(*_: object) -> None:
    """Take the place of a bus that does not answer."""
    raise Unavailable("no bus")


def documents(world: World, collection: str) -> list[tuple[str, Fields]]:
    """Read a collection with its paths."""
    return [(each.path, each.fields) for each in world.store.query(Query(collection))]
