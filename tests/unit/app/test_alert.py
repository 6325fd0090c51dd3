"""Webhooks are told what happened, once; and whatever becomes of them, no job waits for it."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

import pytest

from shared.app.messages import alert_message
from shared.core.alert_kinds import AlertKind
from shared.core.alert_limits import CLAIM_S, GIVE_UP_S
from shared.core.alert_routes import Target, WebhookKind
from shared.core.alerts import Alert, AlertJob, installation_alert
from shared.core.stages import Stage
from shared.errors import RateLimited, Unavailable
from shared.ports import Delivery, Message
from tests.fake_webhooks import LAB, FakeWebhooks
from tests.unit.app.world import OTHER_JOB, World

ADA = Target("ada", WebhookKind.SLACK, owners=("ada",))
BOB = Target("bob", WebhookKind.SLACK, owners=("bob",))


def told_by(world: World, *targets: Target) -> FakeWebhooks:
    """Give an installation webhooks."""
    webhooks = FakeWebhooks(*targets)
    world.app = replace(world.app, webhooks=webhooks)
    return webhooks


def an_alert(world: World, number: int = 1, kind: str = "preempted", **changes: object) -> Alert:
    """Make an alert about one of Ada's jobs."""
    plain = installation_alert(
        AlertKind.OTHER,
        key=f"a{number}",
        at=world.clock.now(),
        event="SliceLost",
        text="gone",
        reason="preempted",
    )
    job = AlertJob(f"job{number}", number, "digits")
    return replace(plain, kind=kind, owner="ada", job=job, **changes)  # type: ignore[arg-type]


def hear(world: World, *alerts: Alert) -> None:
    """Publish alerts, and let what follows follow."""
    world.bus.publish("alerts", [alert_message(alert) for alert in alerts])
    world.drain()


def states(world: World) -> list[str]:
    """How far each telling has come."""
    return [str(fields["state"]) for fields in world.all("told")]


# --- A job's life -------------------------------------------------------------------------------


def test_people_are_told_of_a_preemption_its_recovery_and_the_end(world: World) -> None:
    """In their words, and of nothing else."""
    webhooks = told_by(world)
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    world.finish_job()

    preempted, back, end = webhooks.headlines()
    assert "job 1 digits of ada was preempted" == preempted
    assert back.startswith("job 1 digits of ada is back after ")
    assert "job 1 digits of ada succeeded" == end
    assert ["posted"] * 3 == states(world)


def test_one_loss_with_many_signs_is_told_once(world: World) -> None:
    """The notice, the listing and the suspension."""
    webhooks = told_by(world)
    world.run_job()
    world.lose_with_every_sign()

    assert 1 == sum("was preempted" in each for each in webhooks.headlines())


def test_a_webhook_that_is_down_disturbs_no_recovery(world: World) -> None:
    """The job is replaced, resumed and finished at the same times as without one."""
    webhooks = told_by(world)
    webhooks.plan.fail_next("lab", Unavailable("it answered 500"), count=10_000)
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    world.finish_job()

    assert Stage.SUCCEEDED is world.job().stage
    assert webhooks.tried > 0
    assert [] == [fields for fields in world.all("parked") if fields["source"] != "alert"]
    assert {0} == {count for name, count in world.bus.backlog().items() if name != "alert"}


def test_the_alert_function_reads_and_writes_nothing_of_a_job(world: World) -> None:
    """Whatever a webhook is made to say, it has nothing in its hands."""
    told_by(world)
    world.run_job()
    before = {name: world.all(name) for name in ("jobs", "slices", "outbox", "commands")}
    hear(world, an_alert(world))

    assert before == {name: world.all(name) for name in before}


# --- Once ---------------------------------------------------------------------------------------


def test_an_alert_that_is_delivered_twice_is_posted_once(world: World) -> None:
    """To each webhook that wants it."""
    webhooks = told_by(world, LAB, ADA, BOB)
    alert = an_alert(world)
    hear(world, alert, alert)
    world.clock.advance(86_400)
    hear(world, alert)

    assert [("lab", "a1"), ("ada", "a1")] == [
        (each.webhook, each.alert) for each in webhooks.posted
    ]


def test_two_deliveries_at_the_same_time_post_once(world: World) -> None:
    """The second one meets the first one's claim."""
    webhooks = told_by(world)
    alert = alert_message(an_alert(world))
    answers = []

    def deliver_again() -> None:
        webhooks.during = lambda: None
        answers.append(world.handle(_delivery(world, alert)))

    webhooks.during = deliver_again
    first = world.handle(_delivery(world, alert))

    assert (False, [True]) == (first.retry, [answer.retry for answer in answers])
    assert 1 == len(webhooks.posted)


def test_one_webhook_that_fails_keeps_no_other_waiting(world: World) -> None:
    """And is not the reason for telling the other one twice."""
    webhooks = told_by(world, LAB, ADA)
    webhooks.plan.fail_next("lab", Unavailable("it answered 500"))
    hear(world, an_alert(world))
    assert ["ada"] == [each.webhook for each in webhooks.posted]

    world.clock.advance(5)
    world.drain()

    assert ["ada", "lab"] == [each.webhook for each in webhooks.posted]


def test_a_post_whose_reply_was_lost_is_repeated_with_the_same_id(world: World) -> None:
    """The receiver can tell."""
    webhooks = told_by(world)
    webhooks.plan.fail_next("lab", Unavailable("no answer"), after_effect=True)
    hear(world, an_alert(world))
    world.clock.advance(5)
    world.drain()

    assert ["a1", "a1"] == [each.alert for each in webhooks.posted]


def test_whoever_dies_between_the_post_and_its_note_is_followed_by_another(world: World) -> None:
    """Twice with the same id, rather than never."""
    webhooks = told_by(world)

    def die() -> None:
        webhooks.during = lambda: None
        raise MemoryError

    webhooks.during = die
    hear(world, an_alert(world))
    world.clock.advance(CLAIM_S - 1)
    world.drain()
    assert [] == webhooks.posted
    world.clock.advance(5)
    world.drain()

    assert ["a1"] == [each.alert for each in webhooks.posted]
    assert ["posted"] == states(world)


# --- Trouble ------------------------------------------------------------------------------------


def test_a_webhook_that_asks_for_time_gets_it(world: World) -> None:
    """Not one try before."""
    webhooks = told_by(world)
    webhooks.plan.fail_next("lab", RateLimited("it answered 429", after_s=120.0))
    hear(world, an_alert(world))
    world.clock.advance(119)
    world.drain()
    assert 1 == webhooks.tried
    world.clock.advance(1)
    world.drain()

    assert ["posted"] == states(world)


def test_an_alert_is_given_up_after_an_hour_with_a_line_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """It is counted, and not parked; the message that gets through at last tells of it."""
    webhooks = told_by(world)
    webhooks.plan.fail_next("lab", Unavailable("it answered 500"), count=10_000)
    with caplog.at_level(logging.ERROR, "tpuctl.alert"):
        hear(world, an_alert(world, kind="failed"))
        for _ in range(round(GIVE_UP_S / 60) + 6):
            world.clock.advance(60)
            world.drain()

    assert ["webhook lab: gave up on alert a1"] == [each.getMessage() for each in caplog.records]
    assert ["dropped"] == states(world)
    assert [] == world.all("parked")
    assert 0 == world.bus.backlog()["alert"]
    assert webhooks.tried < 30

    webhooks.plan.fail_next("lab", Unavailable("it answered 500"), count=0)
    hear(world, an_alert(world, 2))
    world.clock.advance(600)
    world.drain()

    assert "and 1 more: 1 failed (job 1)" in webhooks.texts()[0]


def test_a_storm_becomes_few_messages_and_every_end_is_named(world: World) -> None:
    """Two hundred jobs lost at once, twenty of which fail for good."""
    webhooks = told_by(world, replace(LAB, burst=3, posts_per_hour=60.0))
    storm = [
        an_alert(world, number, "failed" if number > 180 else "preempted")
        for number in range(1, 201)
    ]
    hear(world, *storm)
    for _ in range(3):
        world.clock.advance(60)
        world.drain()

    assert len(webhooks.posted) <= 4
    heads = [each for each in webhooks.headlines() if each.endswith("failed")]
    assert [f"{20 - len(heads)} failed (job "] == re.findall(
        r"\d+ failed \(job ", "".join(webhooks.texts())
    )
    assert 0 == world.bus.backlog()["alert"]
    assert {"posted", "summed up"} == set(states(world))


def test_one_owners_storm_delays_nobody_else(world: World) -> None:
    """Limits are an owner's."""
    webhooks = told_by(world, replace(LAB, burst=1, posts_per_hour=1.0))
    hear(world, *(an_alert(world, number) for number in range(5)))
    hear(world, replace(an_alert(world, 9), id="b9", owner="bob"))

    assert "job 9 digits of bob was preempted" in webhooks.headlines()


def test_an_alert_without_webhooks_is_done(world: World) -> None:
    """It stands in the log."""
    hear(world, an_alert(world))

    assert [] == world.all("told")
    assert 0 == world.bus.backlog()["alert"]


@pytest.mark.parametrize(
    "data", [b"junk", b'{"version": 9}', b"\xff" * 1000], ids=["junk", "a future", "bytes"]
)
def test_what_is_no_alert_is_parked_once_and_told_to_nobody(world: World, data: bytes) -> None:
    """An alert about an alert would go round and round."""
    webhooks = told_by(world)
    world.publish("alerts", Message(data, {"kind": "alert"}))

    assert ["alert"] == [fields["source"] for fields in world.all("parked")]
    assert [] == webhooks.posted


def test_a_link_leads_to_the_job(world: World) -> None:
    """As the settings form it."""
    webhooks = told_by(world, replace(LAB, link="https://example.org/jobs/{job}"))
    hear(world, an_alert(world, 7))

    assert "<https://example.org/jobs/job7>" == webhooks.texts()[0].splitlines()[-1]


# --- The control plane itself -------------------------------------------------------------------


def test_a_message_that_is_put_aside_is_told_once(world: World) -> None:
    """Junk from a worker, delivered twice."""
    webhooks = told_by(world)
    junk = _delivery(world, Message(b"junk", {"kind": "snapshot"}), "report", "reports")
    for _ in range(2):
        world.handle(junk)
    world.drain()

    (text,) = webhooks.texts()
    assert "the control plane needs attention" in text
    assert "a message of report was put aside: " in text


@pytest.mark.parametrize("subscription", ["alert", "tpuctl-alert"])
def test_a_dead_alert_raises_none(world: World, subscription: str) -> None:
    """In every wiring."""
    webhooks = told_by(world)
    attributes = {"kind": "alert", "CloudPubSubDeadLetterSourceSubscription": subscription}
    world.publish("dead-letters", Message(b"{}", attributes))

    assert 1 == len(world.all("parked"))
    assert [] == webhooks.posted


def test_a_listing_that_fails_for_long_is_told_and_taken_back(world: World) -> None:
    """The jobs run on meanwhile."""
    webhooks = told_by(world)
    world.run_job()
    world.slices.fail_next("list", Unavailable("no answer"), count=100)
    world.ticks(world.policy.degraded_s - 2)
    assert [] == webhooks.posted
    world.ticks(100)

    assert ["the control plane needs attention", "the control plane is well again"] == (
        webhooks.headlines()
    )
    assert "no answer" in webhooks.texts()[0]
    assert Stage.RUNNING is world.job().stage


def test_reports_that_do_not_come_through_are_told(world: World) -> None:
    """Nobody is given up, and somebody should look."""
    webhooks = told_by(world)
    world.run_job()
    world.loses = lambda delivery: delivery.subscription == "report"
    world.ticks(world.policy.degraded_s + 20)

    assert ["the control plane needs attention"] == webhooks.headlines()
    assert "reports of hosts do not come through" in webhooks.texts()[0]


def test_a_job_that_waits_for_too_long_is_told_as_stuck(world: World) -> None:
    """Once; the other one is not held up."""
    webhooks = told_by(world)
    world.gives = False
    world.submit()
    world.ticks(world.policy.stuck_s + 30, every_s=10)
    world.gives = True
    world.run_job(OTHER_JOB, name="other")

    assert ["job 1 digits of ada is stuck"] == webhooks.headlines()


def _delivery(
    world: World, message: Message, subscription: str = "alert", topic: str = "alerts"
) -> Delivery:
    return Delivery("7", subscription, topic, message, world.clock.now(), 1)
