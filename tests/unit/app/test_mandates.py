"""What agents are told: written by sequence, never backwards, never made again."""

import json

from shared.core.causes import Cause
from shared.core.names import mandate_object
from shared.core.stages import Stage
from shared.errors import Unavailable
from tests.unit.app.records import JOB
from tests.unit.app.world import World

FIRST = mandate_object("uid00001", 1)


def stored(world: World, name: str = FIRST) -> dict[str, object]:
    """Read a mandate's object."""
    blob = world.blobs.get(name)
    assert blob is not None, f"there is {name}"
    found: dict[str, object] = json.loads(blob.data)
    return found


def test_a_sequence_above_the_documents_is_jumped_over(world: World) -> None:
    """The database was restored: what hosts obeyed since is not taken back by a lower number."""
    world.run_job()
    world.blobs.put(FIRST, json.dumps({**stored(world), "sequence": 50}).encode())
    world.drain()
    assert 50 == world.hosts[0].state.record.seen
    world.stop()
    world.tick_until(world.stands_at(Stage.CANCELLED), limit_s=10.0)

    assert 51 <= world.hosts[0].state.record.seen if world.hosts else True
    sequence = stored(world)["sequence"]
    assert isinstance(sequence, int)
    assert sequence > 50


def test_a_mandate_that_went_missing_is_never_made_again(world: World) -> None:
    """A deleted object may be a bucket that somebody emptied: nothing is started by it."""
    world.run_job()
    world.blobs.remove(FIRST)
    world.stop()
    world.ticks(20.0)

    assert world.blobs.get(FIRST) is None


def test_a_job_whose_mandate_went_missing_is_stopped_when_its_slice_is_gone(world: World) -> None:
    """Nobody can be told to go, so the slice is deleted."""
    world.run_job()
    world.blobs.remove(FIRST)
    world.stop()
    world.tick_until(world.stands_at(Stage.CANCELLED), limit_s=10.0)

    assert "no mandate" in world.story()
    world.tick_until_quiet()


def test_a_job_whose_mandate_went_missing_waits_for_the_lease_at_last(world: World) -> None:
    """A slice that can neither be told nor deleted dies of itself."""
    world.run_job()
    hosts = world.hosts
    world.slices.slow_deletes = True
    world.blobs.remove(FIRST)
    world.stop()
    world.ticks(100.0)
    assert [(JOB, 0), (JOB, 0)] == [host.runs for host in hosts]
    assert Stage.STOPPING is world.job().stage
    world.tick_until(world.stands_at(Stage.CANCELLED), limit_s=40.0)

    assert [None, None] == [host.runs for host in hosts]
    assert "(lease)" in world.story()


def test_a_job_whose_mandate_went_missing_goes_on_elsewhere(world: World) -> None:
    """It runs until its lease ends, and then gets another slice."""
    world.run_job()
    world.blobs.remove(FIRST)
    world.tick_until(world.runs_attempt(1), limit_s=200.0)

    assert Cause.CUT_OFF is world.attempts()[0].cause
    assert 2 == world.slice().generation


def test_a_mandate_that_cannot_be_written_is_written_when_storage_is_back(world: World) -> None:
    """The intent stays open, and is due again."""
    world.run_job()
    world.blobs.plan.fail_next("put", Unavailable("no answer"))
    world.stop()
    assert Stage.STOPPING is world.job().stage
    world.ticks(world.policy.intent_due_s + world.policy.tick_s + 1.0)

    assert Stage.CANCELLED is world.job().stage


def test_a_write_whose_reply_was_lost_is_not_a_second_mandate(world: World) -> None:
    """Same sequence, same bytes: what is there already need not be written again."""
    world.run_job(grace_s=600.0)
    world.deafen()
    world.blobs.plan.fail_next("put", Unavailable("no answer"), after_effect=True)
    world.stop()
    before = world.blobs.get(FIRST)
    world.ticks(world.policy.intent_due_s + world.policy.tick_s + 1.0)

    assert before == world.blobs.get(FIRST)
    assert stored(world)["sequence"] == world.generation().mandate.written


def test_every_generation_ends_with_an_end(world: World) -> None:
    """A host that wakes up later finds that nothing is left to do."""
    world.run_job()
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(1))
    world.finish_job()
    world.tick_until_quiet()

    actions = [stored(world, mandate_object("uid00001", number))["action"] for number in (1, 2)]
    assert ["end", "end"] == actions


def test_the_bell_rings_when_agents_look_rarely(world: World) -> None:
    """While a command runs the mandate is read twice a minute: a stop does not wait for that."""
    world.run_job()
    name = world.bid.name
    world.stop()

    assert str(world.slice().generations[-1].mandate.sequence) >= world.slices.bells[name]
    assert world.slices.calls["ring"] >= 1


def test_a_bell_that_cannot_be_rung_stops_nobody(world: World) -> None:
    """Agents look by themselves a little later."""
    world.run_job()
    world.slices.fail_next("ring", Unavailable("no answer"), count=10)
    world.stop()
    world.tick_until(world.stands_at(Stage.CANCELLED), limit_s=10.0)
    world.tick_until_quiet()
