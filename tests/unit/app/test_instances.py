"""A host's VM is found by its name, which is all that Google's audit log knows of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta

from shared.app.instances import KEPT
from shared.core.stages import Stage
from tests.agents import Host, forged
from tests.audit_entries import PREEMPTED, vm_entry
from tests.unit.app.audit_log import says
from tests.unit.app.world import World


def instance_fields(world: World, host: Host) -> Mapping[str, object]:
    """What is stored of a host's VM."""
    return world.fields(f"instances/{host.hostname}")


def test_a_host_that_speaks_is_found_by_its_vms_name(world: World) -> None:
    """One small document, which says so in a sentence."""
    world.run_job()
    host, slice_ = world.hosts[1], world.slice()
    fields = dict(instance_fields(world, host))
    expires_at = fields.pop("expires_at")

    assert {
        "slice": slice_.name,
        "slice_uid": slice_.uid,
        "generation": 1,
        "bid": "0",
        "host": 1,
        "summary": f"host 1 of {slice_.name}, generation 1",
    } == fields
    assert timedelta(0) <= world.clock.now() + KEPT - expires_at < timedelta(minutes=1)  # type: ignore[operator]


def test_a_host_with_a_full_domain_is_found_by_its_first_label(world: World) -> None:
    """The metadata server says more than the log does."""
    world.run_job()
    full = "t1v-n-77777777-w-0.us-central2-b.c.sandbox.internal"
    world.publish("reports", forged(world.hosts[0].snapshot(), sequence=99, hostname=full))
    says(world, vm_entry(PREEMPTED, "t1v-n-77777777-w-0", world.clock.now()))

    assert Stage.RECOVERING is world.job().stage


def test_a_hostname_that_is_no_vms_name_names_no_document(world: World) -> None:
    """A user's program may have changed it."""
    world.run_job()
    before = len(world.all("instances"))
    changed = forged(world.hosts[0].snapshot(), sequence=99, hostname="../control/tick")
    world.publish("reports", changed)

    assert before == len(world.all("instances"))
    assert [] == world.all("parked")


def test_a_snapshot_without_its_token_names_no_vm(world: World) -> None:
    """Or anybody could have the loss of one slice counted against another."""
    world.run_job()
    name, tokens = "t1v-n-66666666-w-0", {"bid": "00", "attempt": None}
    snapshot = forged(world.hosts[0].snapshot(), sequence=99, hostname=name, tokens=tokens)
    world.publish("reports", snapshot)

    assert world.store.get(f"instances/{name}") is None


def test_a_vm_that_serves_another_host_now_is_found_as_that(world: World) -> None:
    """The newest word counts."""
    world.run_job()
    first, second = world.hosts
    snapshot = forged(second.snapshot(), sequence=99, hostname=first.hostname)
    world.publish("reports", snapshot)

    assert 1 == instance_fields(world, first)["host"]


def test_a_host_that_says_more_is_not_written_down_again(world: World) -> None:
    """A snapshot is one write; the VM's name does not change."""
    world.run_job()
    path = f"instances/{world.hosts[0].hostname}"
    before = world.store.get(path)
    world.hosts[0].reboot()
    world.ticks(30.0)

    assert before is not None
    after = world.store.get(path)
    assert after is not None
    assert before.token == after.token


def test_a_host_that_lives_long_is_not_forgotten(world: World) -> None:
    """What expires is renewed while the host speaks."""
    world.run_job()
    begun = world.clock.now()
    for days in (1, 16):
        world.clock.advance((begun + timedelta(days=days) - world.clock.now()).total_seconds())
        message = world.hosts[0].snapshot()
        words = json.loads(message.data)
        world.bus.publish("reports", [forged(message, sequence=words["sequence"] + days)])
        for delivery in world.bus.pull("report", limit=50):
            world.deliver(delivery)
        expires_at = instance_fields(world, world.hosts[0])["expires_at"]
        assert (days == 16) is (expires_at >= begun + timedelta(days=40))  # type: ignore[operator]
