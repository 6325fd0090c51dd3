"""What is said of others, or by others, is not taken for the audit log's word on us."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shared.app import audit
from shared.app.push import RECEIVERS
from shared.core.stages import Stage
from shared.ports import Message, Replace
from tests.agents import SNAPSHOT
from tests.audit_entries import PREEMPTED, as_message, tpu_entry, vm_entry
from tests.unit.app.audit_log import Entry, of_host, says
from tests.unit.app.world import OTHER_JOB, World


def strangers(world: World) -> dict[str, Entry]:
    """Write what the log says of others, as like ours as can be."""
    mine, now = of_host(world), world.clock.now()
    name, other = (
        world.hosts[0].hostname,
        "projects/other/logs/cloudaudit.googleapis.com%2Factivity",
    )
    foreign = world.bid.name.replace("abc123", "zzz999")
    return {
        "another project": {**mine, "logName": other},
        "another zone": vm_entry(PREEMPTED, name, now, zone="us-east1-d"),
        "another VM": vm_entry(PREEMPTED, "db-7", now),
        "another method": vm_entry("compute.instances.guestTerminate", name, now),
        "another installation": tpu_entry(foreign, now),
        "another TPU": tpu_entry("my-tpu", now),
        "an unknown slice": tpu_entry("tpuctl-abc123-uid99999-g1-b0", now),
    }


@pytest.mark.parametrize(
    "which",
    [
        "another project",
        "another zone",
        "another VM",
        "another method",
        "another installation",
        "another TPU",
        "an unknown slice",
    ],
)
def test_what_is_said_of_others_changes_nothing(world: World, which: str) -> None:
    """It is not parked either: a sink may be wider than it must be."""
    world.run_job()
    before, calls = world.slice(), world.slices.calls.copy()
    says(world, strangers(world)[which])

    assert before == world.slice()
    assert calls == world.slices.calls
    assert [] == world.all("parked")


def test_an_earlier_slice_of_that_name_is_not_this_one(world: World) -> None:
    """Names of slices repeat, uids do not."""
    world.run_job()
    path = f"instances/{world.hosts[0].hostname}"
    document = world.store.get(path)
    assert document is not None
    fields = {**document.fields, "slice_uid": "old00001"}
    world.store.commit([Replace(path, fields, document.token)])
    says(world, of_host(world))

    assert Stage.RUNNING is world.job().stage


def test_a_loss_on_one_slice_leaves_the_others_alone(world: World) -> None:
    """Hosts have the same numbers, their VMs have names of their own."""
    world.run_job()
    world.run_job(OTHER_JOB)
    says(world, of_host(world))

    assert Stage.RECOVERING is world.job().stage
    assert Stage.RUNNING is world.job(OTHER_JOB).stage


# --- Who may say it -----------------------------------------------------------------------------


def test_an_entry_on_the_agents_topic_is_not_believed(world: World) -> None:
    """Workers may publish there, and only there."""
    world.run_job()
    world.publish("reports", replace(as_message(of_host(world)), attributes=SNAPSHOT))

    assert Stage.RUNNING is world.job().stage
    (parked,) = world.all("parked")
    assert "report" == parked["source"]


def test_the_log_is_heard_on_one_subscription_alone() -> None:
    """What comes by any other goes to another use case."""
    heard = [name for name, module in RECEIVERS.items() if module == audit.__name__]

    assert ["report-audit"] == heard


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xff", id="no text"),
        pytest.param(b"{", id="no JSON"),
        pytest.param(b"[]", id="no object"),
        pytest.param(b'{"textPayload": "preempted"}', id="no payload"),
        pytest.param(b"x" * (1024 * 1024 + 1), id="too large"),
    ],
)
def test_what_is_no_entry_is_parked_once(world: World, data: bytes) -> None:
    """However often it comes."""
    world.bus.publish("audit", [Message(data)])
    (delivery,) = world.bus.pull("report-audit")
    answers = [world.handle(delivery), world.handle(delivery)]

    assert [False, False] == [answer.retry for answer in answers]
    (parked,) = world.all("parked")
    assert "report-audit" == parked["source"]
    assert str(parked["reason"]).startswith("audit log: ")
