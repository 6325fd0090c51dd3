"""Topics and subscriptions become what the topology says, however often it is asked for."""

from dataclasses import replace

import pytest
from google.pubsub_v1 import types

from shared.adapters import pubsub_calls, pubsub_setup
from shared.adapters.pubsub_calls import Names
from shared.errors import InvalidRequest
from shared.topology import BOX_REPORTS, FUNCTIONS, SUBSCRIPTIONS, Subscription, Topic
from tests.emulators import Emulators

URLS = {name: f"http://127.0.0.1:9/{name}" for name in FUNCTIONS}
WORK = Subscription("work", "tasks", 60, 2, 600, 100, "dead", "launch")


def found(emulators: Emulators, project: str, name: str) -> types.Subscription:
    """Read a subscription back."""
    path = Names(project, "pre").subscription(name)
    return pubsub_calls.subscriber(emulators.pubsub).get_subscription(subscription=path)


def test_everything_is_what_the_topology_says(emulators: Emulators, cloud_project: str) -> None:
    """Terraform reads the same definition."""
    names = Names(cloud_project, "pre")

    pubsub_setup.declare(
        cloud_project, "pre", SUBSCRIPTIONS, push_endpoints=URLS, emulator=emulators.pubsub
    )

    for each in SUBSCRIPTIONS:
        made = found(emulators, cloud_project, each.name)
        wanted = pubsub_setup.described(each, names, URLS[each.function])
        for field in (
            "topic",
            "ack_deadline_seconds",
            "retry_policy",
            "dead_letter_policy",
        ):
            assert getattr(wanted, field) == getattr(made, field), (each.name, field)
        assert URLS[each.function] == made.push_config.push_endpoint
    topics = pubsub_calls.publisher(emulators.pubsub).list_topics(
        project=f"projects/{cloud_project}"
    )
    assert {names.topic(topic) for topic in Topic} == {topic.name for topic in topics}


def test_a_second_time_changes_what_differs(emulators: Emulators, cloud_project: str) -> None:
    """Functions that moved, for example; messages that wait stay."""
    for subscription, url in ((WORK, "old"), (WORK, "old"), (replace(WORK, attempts_max=7), "new")):
        pubsub_setup.declare(
            cloud_project,
            "pre",
            [subscription],
            push_endpoints={"launch": f"http://127.0.0.1:9/{url}"},
            emulator=emulators.pubsub,
        )

    made = found(emulators, cloud_project, "work")
    assert "http://127.0.0.1:9/new" == made.push_config.push_endpoint
    assert 7 == made.dead_letter_policy.max_delivery_attempts


def test_without_endpoints_it_is_pulled_from(emulators: Emulators, cloud_project: str) -> None:
    """A box has no address."""
    pubsub_setup.declare(cloud_project, "pre", [BOX_REPORTS], emulator=emulators.pubsub)

    made = found(emulators, cloud_project, BOX_REPORTS.name)
    assert ("", "") == (made.push_config.push_endpoint, made.dead_letter_policy.dead_letter_topic)


def test_what_google_refuses_is_told_with_the_name(
    emulators: Emulators, cloud_project: str
) -> None:
    """Four attempts are too few."""
    with pytest.raises(InvalidRequest, match="subscriptions/pre-work"):
        pubsub_setup.declare(
            cloud_project, "pre", [replace(WORK, attempts_max=4)], emulator=emulators.pubsub
        )


def test_a_subscription_never_expires() -> None:
    """An installation may sleep for a month; unset would mean that."""
    made = pubsub_setup.described(WORK, Names("p", "pre"))

    assert "expiration_policy" in made
    assert "ttl" not in made.expiration_policy


@pytest.mark.parametrize("each", [pytest.param(each, id=each.name) for each in SUBSCRIPTIONS])
def test_messages_are_kept_as_long_as_the_topology_says(each: Subscription) -> None:
    """At Google; the emulator keeps nothing for more than a week."""
    made = pubsub_setup.described(each, Names("p", "pre"))

    days = 14 if each.topic == Topic.DEAD_LETTERS else 7
    kept = types.Subscription.pb(made).message_retention_duration
    assert days * 24 * 3600 == kept.seconds


def test_without_a_backoff_there_is_no_policy() -> None:
    """Which means at once."""
    made = pubsub_setup.described(replace(WORK, backoff_min_s=0, backoff_max_s=0), Names("p", "e"))

    assert "retry_policy" not in made
    assert "retry_policy" in pubsub_setup.described(WORK, Names("p", "e"))
