"""The audit log as its sink forwards it, read by the one who acts on it."""

import json

from sandbox.cloud import Cloud
from shared.core.audit import Meaning, Word, classify, parse
from shared.core.causes import Cause
from tests.clouds import BOOTED_AT, LOCATION, active_cloud, ask, make_cloud

NODE = f"{LOCATION}/nodes/a"


def heard(cloud: Cloud) -> list[Word]:
    """Return what the entries that were published mean."""
    entries = [parse(text.encode()) for text in cloud.take_audit_entries()]
    words = [classify(entry, "sandbox") for entry in entries]
    return [word for word in words if word is not None]


def test_without_a_sink_nothing_is_published() -> None:
    """The default."""
    cloud = active_cloud()

    cloud.preempt(NODE, notice=False)
    cloud.advance(BOOTED_AT + 100)

    assert [] == cloud.take_audit_entries()


def test_preemption_is_heard_of_every_host_a_little_later() -> None:
    """By the VM's name, as in the metadata of the host."""
    cloud = active_cloud(audit_copies=1, audit_lag_s=3)
    cloud.take_audit_entries()
    names = [host.hostname for host in cloud.hosts.values()]

    cloud.preempt(NODE, notice=False)
    cloud.advance(BOOTED_AT + 2.9)
    early = heard(cloud)
    cloud.advance(BOOTED_AT + 3)
    found = heard(cloud)

    assert [] == early
    assert [(Meaning.LOST, name, Cause.PREEMPTED) for name in names] == [
        (word.meaning, word.name, word.cause) for word in found
    ]


def test_entries_come_twice_and_late_when_that_is_ordered() -> None:
    """The very same ones."""
    cloud = active_cloud()
    cloud.weather.inject({"fault": "audit-log", "copies": 2, "delay_s": 60})
    cloud.preempt(NODE, notice=False)

    cloud.advance(BOOTED_AT + 60)
    entries = [json.loads(text)["insertId"] for text in cloud.take_audit_entries()]

    assert 4 == len(entries)
    assert 2 == len(set(entries))


def test_announced_maintenance_is_heard_with_its_window() -> None:
    """Of every host."""
    cloud = active_cloud(audit_copies=1)
    cloud.take_audit_entries()

    cloud.weather.inject({"fault": "maintenance", "in_s": 3600})
    cloud.advance(BOOTED_AT + 1)

    assert [(Meaning.AHEAD, "maintenance is announced for 1970-01-01 01:02 UTC")] * 2 == [
        (word.meaning, word.detail) for word in heard(cloud)
    ]


def test_calls_that_change_something_are_heard() -> None:
    """By the name of what they change; reads are not logged."""
    cloud = make_cloud(audit_copies=1)
    ask(cloud, "a")
    cloud.queued_resources.get("a")

    cloud.advance(5)

    assert [(Meaning.TOUCHED, "a", "audit log: CreateQueuedResource")] == [
        (word.meaning, word.name, word.detail) for word in heard(cloud)
    ]
