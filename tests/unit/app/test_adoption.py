"""TPUs that others made: watched, used once the installer ran, never deleted unasked."""

from dataclasses import replace
from typing import Any

import pytest

from shared.core.causes import Cause
from shared.core.hosts import host_key
from shared.core.mandates import Place, agent_config
from shared.core.slices import Slice
from shared.core.stages import Stage
from tests.unit.app.records import JOB
from tests.unit.app.world import ZONE, World

PLACE = Place("sandbox", "bucket", "reports")


@pytest.fixture
def theirs(world: World) -> World:
    """Have a world in which somebody made a TPU."""
    world.slices.plant("theirs", ZONE)
    return world


def slice_of(world: World) -> Slice:
    """The adopted slice."""
    return world.slice_named("theirs")


def install(world: World) -> None:
    """Run the installer on its hosts, and wait until it serves."""
    slice_ = slice_of(world)
    current = slice_.current
    assert current is not None
    bid = current.foreign_bid
    assert bid is not None
    config = agent_config(slice_, current, bid, PLACE, world.policy)
    world.farm.install("theirs", config)
    world.tick_until(lambda: is_claimed(world))


def is_claimed(world: World) -> bool:
    """All its hosts speak."""
    current = slice_of(world).current
    return current is not None and current.claimed != ""


def in_use(world: World, **spec: Any) -> None:
    """Adopt, install, and run a job there."""
    assert "" == world.adopt().reason
    install(world)
    assert "" == world.submit(place="theirs", **spec).reason
    world.tick_until(world.runs_attempt(0))


def is_there(world: World) -> bool:
    """Nobody deleted it."""
    return "theirs" in world.slices.others


def test_what_is_adopted_is_watched_until_the_installer_ran(theirs: World) -> None:
    """However long that takes; a job waits for it."""
    assert "" == theirs.adopt().reason
    theirs.ticks(theirs.policy.boot_s + 60.0, every_s=20.0)
    assert "" == theirs.submit(place="theirs").reason
    theirs.ticks(10.0)

    assert Stage.PROVISIONING is theirs.job().stage
    assert "only watched until the installer ran there: tpuctl slice installer theirs" == (
        slice_of(theirs).summary
    )
    install(theirs)
    theirs.tick_until(theirs.runs_attempt(0))


def test_jobs_run_on_what_was_adopted(theirs: World) -> None:
    """As on any other slice; nothing is asked for, and its metadata stays as it is."""
    in_use(theirs)
    theirs.stop()
    theirs.tick_until(theirs.stands_at(Stage.CANCELLED))

    assert [] == list(theirs.slices.names)
    assert {} == theirs.slices.bells
    assert "" == slice_of(theirs).job


def test_what_is_let_go_stays_in_the_cloud(theirs: World) -> None:
    """And may be adopted again."""
    in_use(theirs)
    theirs.finish_job()
    assert "accepted" == theirs.release("theirs").outcome
    theirs.ticks(30.0)

    assert (False, True) == (slice_of(theirs).live, is_there(theirs))
    assert [] == theirs.all("ledger")
    assert "" == theirs.adopt(slice_uid="adopt002").reason


def test_what_is_lost_is_let_go_and_its_job_ends(theirs: World) -> None:
    """No rule makes again what others made; whoever made it another time is somebody else."""
    in_use(theirs)
    theirs.slices.replant(replace(theirs.slices.others["theirs"].nodes[0], state="PREEMPTED"))
    theirs.tick_until(theirs.stands_at(Stage.FAILED))
    theirs.slices.plant("theirs", ZONE)
    theirs.ticks(60.0)

    assert "was adopted and is not made again: tpuctl resume 1 --on SLICE" in theirs.job().reason
    assert Cause.PREEMPTED is theirs.attempts()[0].cause
    assert (False, True) == (slice_of(theirs).live, is_there(theirs))
    assert [] == list(theirs.slices.names)


def test_another_node_of_its_name_is_not_it(theirs: World) -> None:
    """A name is nothing: id and time of creation count."""
    in_use(theirs)
    theirs.farm.install("theirs", '{"hosts": 0}')
    theirs.slices.plant("theirs", ZONE)
    theirs.tick_until(theirs.stands_at(Stage.FAILED))

    assert Cause.DELETED is theirs.attempts()[0].cause
    assert is_there(theirs)


def test_a_job_that_waits_for_what_is_lost_ends(theirs: World) -> None:
    """Before the installer ran."""
    theirs.adopt()
    theirs.submit(place="theirs")
    del theirs.slices.others["theirs"]
    theirs.tick_until(theirs.stands_at(Stage.FAILED))

    assert theirs.job().reason.startswith("theirs is gone, deleted")


def test_a_silent_host_is_not_fenced_by_a_delete(theirs: World) -> None:
    """The lease proves its death: it is not ours to delete."""
    in_use(theirs)
    for host in theirs.farm.living:
        host.is_cut_off = host.is_mute = True
    theirs.tick_until(theirs.stands_at(Stage.FAILED), limit_s=600.0, every_s=5.0)
    theirs.tick_until(lambda: theirs.job().writer_is_dead, limit_s=600.0, every_s=5.0)

    writer = theirs.job().writer
    assert writer is not None
    assert "lease" == writer.dead
    assert is_there(theirs)


def test_what_is_disposable_is_deleted_and_made_again(theirs: World) -> None:
    """As if it were ours; the next generation is."""
    assert "" == theirs.adopt(disposable=True).reason
    install(theirs)
    theirs.submit(place="theirs")
    theirs.tick_until(theirs.runs_attempt(0))

    assert "accepted" == theirs.change_slice("recreate", "theirs").outcome
    theirs.tick_until(theirs.runs_attempt(1), limit_s=200.0)

    assert not is_there(theirs)
    assert 1 == len(theirs.slices.names)
    assert theirs.farm.of(theirs.slices.names[0])


def test_a_node_that_took_the_name_is_not_deleted_for_a_disposable_one(theirs: World) -> None:
    """Both are compared: name and identity."""
    theirs.adopt(disposable=True)
    install(theirs)
    theirs.slices.plant("theirs", ZONE)
    theirs.release("theirs")
    theirs.ticks(30.0)

    assert is_there(theirs)


@pytest.mark.parametrize(
    "node, args, reason",
    [
        ({}, {"node": "nobody"}, "there is no TPU nobody in us-central2-b"),
        ({}, {"zone": "nowhere-a"}, "no zone with TPUs is called nowhere-a"),
        (
            {"labels": {"tpuctl-installation": "zzz999"}},
            {},
            "TPU theirs in us-central2-b belongs to the tpuctl installation zzz999 already",
        ),
        (
            {"state": "PREEMPTED"},
            {},
            "TPU theirs in us-central2-b is PREEMPTED: only what runs can be adopted",
        ),
        ({"accelerator_type": "v9-8"}, {}, "TPU theirs is a v9-8: "),
    ],
    ids=["not there", "no zone", "of an installation", "lost", "unknown type"],
)
def test_what_cannot_be_adopted_is_refused(
    world: World, node: dict[str, Any], args: dict[str, Any], reason: str
) -> None:
    """In one line that says what, where and why."""
    world.slices.plant("theirs", ZONE, **node)

    assert world.adopt(**args).reason.startswith(
        reason.replace("in us-central2-b is a v9-8", "is a v9-8")
    )
    assert [] == world.all("slices")


def test_what_is_ours_by_its_name_is_not_adopted(world: World) -> None:
    """Whatever its labels say."""
    name = "tpuctl-abc123-aaaaaaaa-g1-b0"
    world.slices.plant(name, ZONE)

    reason = world.adopt(name, slice="alias").reason

    assert f"TPU {name} in {ZONE} belongs to the tpuctl installation abc123 already" == reason


def test_what_is_adopted_already_is_refused(theirs: World) -> None:
    """Under whatever name."""
    theirs.adopt()

    reason = theirs.adopt(slice="alias", slice_uid="adopt002").reason

    assert "TPU theirs in us-central2-b is slice theirs already" == reason


@pytest.mark.parametrize("kind", ["recreate"])
def test_what_is_not_disposable_is_not_made_again_on_order(theirs: World, kind: str) -> None:
    """Whoever made it has to."""
    theirs.adopt()

    expected = "slice theirs was adopted: it is never deleted or made again"
    assert expected == theirs.change_slice(kind, "theirs").reason


def test_hosts_of_what_was_adopted_reboot_on_order(theirs: World) -> None:
    """Its job goes on."""
    in_use(theirs)
    assert "accepted" == theirs.change_slice("restart", "theirs").outcome
    theirs.tick_until(theirs.runs_attempt(1))

    assert {2} == {host.boots for host in theirs.farm.living}
    assert JOB == slice_of(theirs).job
    key = host_key(1, "0", 0)
    assert theirs.fields(f"slices/theirs/hosts/{key}")
