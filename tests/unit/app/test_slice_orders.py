"""Slices of their own: created, kept, made again, restarted, by whoever owns them."""

from typing import Any

import pytest

from shared.core.causes import Cause
from shared.core.slices import Kind
from shared.core.stages import Stage
from shared.ports import Replace
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, World, spec_of


def up(world: World, **args: Any) -> str:
    """Create a slice and wait until it serves; return the name of its bid."""
    assert "" == world.create_slice(**args).reason
    world.tick_until(lambda: is_up(world))
    current = world.slice_named("mine").current
    assert current is not None
    return current.bids[-1].name


def is_up(world: World) -> bool:
    """The slice serves."""
    current = world.slice_named("mine").current
    return current is not None and current.claimed != ""


def run_on(world: World, job: str = JOB, **spec: Any) -> None:
    """Run a job on the slice until its first attempt runs."""
    assert "" == world.submit(job, place="mine", **spec).reason
    world.tick_until(world.runs_attempt(0, job))


def test_a_slice_is_created_without_a_job_and_stays_after_one(world: World) -> None:
    """Two jobs run on it one after the other, on one bid."""
    bid = up(world)
    for job in (JOB, OTHER_JOB):
        run_on(world, job)
        world.finish_job()
        world.ticks(5.0)

    assert [bid] == list(world.slices.names)
    assert (Kind.NAMED, "") == (world.slice_named("mine").kind, world.slice_named("mine").job)
    assert "accepted" == world.release("mine").outcome
    world.tick_until_quiet()


@pytest.mark.parametrize(
    "args, reason",
    [
        ({"accelerator_type": "v9-8"}, "accelerator_type: "),
        ({"zones": ["nowhere-a"]}, "zones: "),
        ({"tier": "cheap"}, "tier: "),
    ],
    ids=["type", "zone", "tier"],
)
def test_a_slice_that_cannot_be_is_refused(world: World, args: dict[str, Any], reason: str) -> None:
    """As for a job: the refusal names the field."""
    assert world.create_slice(**args).reason.startswith(reason)
    assert [] == world.all("slices")


def test_a_name_that_is_taken_is_refused(world: World) -> None:
    """Whoever has it."""
    up(world)

    assert "the name mine is taken by another slice" == world.create_slice().reason


@pytest.mark.parametrize("keep, generation", [(True, 2), (False, 1)], ids=["kept", "not kept"])
def test_a_lost_slice_is_made_again_by_itself_where_it_is_kept(
    world: World, *, keep: bool, generation: int
) -> None:
    """Else nothing is paid for that nobody needs."""
    world.slices.preempt(up(world, keep=keep))
    world.ticks(30.0)

    slice_ = world.slice_named("mine")
    assert (True, generation) == (slice_.live, slice_.generation)
    assert keep == is_up(world)


def test_a_lost_slice_is_made_again_for_a_job(world: World) -> None:
    """The wish is stored: nobody has to say it again."""
    world.slices.preempt(up(world))
    world.ticks(30.0)
    assert [] == list(world.slices.names)

    run_on(world)

    assert 2 == world.slice_named("mine").generation


def test_a_lost_slice_is_made_again_on_order(world: World) -> None:
    """Once."""
    world.slices.preempt(up(world))
    world.ticks(30.0)
    assert "lost; a job on it, or tpuctl slice recreate mine, makes it again" == (
        world.slice_named("mine").summary
    )

    assert "accepted" == world.change_slice("recreate", "mine").outcome
    world.tick_until(lambda: is_up(world))
    world.ticks(10.0)

    assert 2 == world.slice_named("mine").generation
    assert 1 == len(world.slices.names)


def test_a_job_goes_on_when_its_slice_is_made_again(world: World) -> None:
    """After it saved its state, from there, and at no cost of its budget."""
    old = up(world)
    run_on(world, budgets={"preemptions": 0, "failures": 0})

    assert "accepted" == world.change_slice("recreate", "mine").outcome
    world.tick_until(world.runs_attempt(1), limit_s=200.0)

    assert [Cause.DELETED, None] == [attempt.cause for attempt in world.attempts()]
    assert 0 == world.job().spent.preemptions
    assert old not in world.slices.names
    assert 1 == world.job().resumes


def test_a_temporary_slice_is_made_again_for_its_job_alone(world: World) -> None:
    """Held for a fix it is not."""
    world.run_job()
    assert "accepted" == world.change_slice("recreate", "digits-1").outcome
    world.tick_until(world.runs_attempt(1), limit_s=200.0)
    world.finish_job(1)

    expected = "slice digits-1 goes with its job, and that is over: resume the job"
    assert expected == world.change_slice("recreate", "digits-1").reason


def test_hosts_reboot_once_on_order(world: World) -> None:
    """Each of them, and the slice stays."""
    bid = up(world)
    hosts = world.farm.of(bid)

    assert "accepted" == world.change_slice("restart", "mine").outcome
    world.ticks(5.0)

    assert [2, 2] == [host.boots for host in hosts]
    assert [bid] == list(world.slices.names)
    current = world.slice_named("mine").current
    assert current is not None
    assert ({}, None) == (current.restart, current.restart_at)
    assert "accepted" == world.change_slice("restart", "mine").outcome
    world.ticks(5.0)
    assert [3, 3] == [host.boots for host in hosts]


@pytest.mark.parametrize("rule", ["pre", "pass"])
def test_a_job_goes_on_after_a_restart(world: World, rule: str) -> None:
    """Its attempt ends as rebooted; whatever its rule is, and at no cost."""
    up(world)
    run_on(world, rule=rule)

    assert "accepted" == world.change_slice("restart", "mine").outcome
    world.tick_until(world.runs_attempt(1))

    assert [Cause.REBOOTED, None] == [attempt.cause for attempt in world.attempts()]
    assert 0 == world.job().spent.echoes
    assert {2} == {host.boots for host in world.farm.living}


def test_a_job_that_ended_before_a_restart_reached_it_has_ended(world: World) -> None:
    """There is nothing to go on with."""
    up(world)
    run_on(world)
    world.farm.each(lambda host: host.finish())
    world.change_slice("restart", "mine")
    world.ticks(15.0)

    assert Stage.SUCCEEDED is world.job().stage
    assert {2} == {host.boots for host in world.farm.living}


def test_hosts_that_do_not_reboot_are_told_and_the_job_goes_on(world: World) -> None:
    """Agents of before this order exist do not know it."""
    up(world)
    run_on(world)
    for host in world.farm.living:
        host.reboots = False
    world.change_slice("restart", "mine")
    world.tick_until(world.runs_attempt(1), limit_s=world.policy.boot_s + 30.0)

    assert "RestartFailed" in world.events()


def test_what_is_not_up_is_not_restarted(world: World) -> None:
    """With what it waits for."""
    world.gives = False
    world.create_slice()

    reason = world.change_slice("restart", "mine").reason

    assert reason.startswith("slice mine is not up: asks for v4-16")


@pytest.mark.parametrize("kind", ["recreate", "restart"])
def test_a_slice_that_is_gone_or_going_takes_no_order(world: World, kind: str) -> None:
    """And one that never was."""
    up(world)
    world.slices.slow_deletes = True
    world.release("mine")
    assert "slice mine is being deleted" == world.change_slice(kind, "mine").reason
    world.slices.slow_deletes = False
    world.tick_until_quiet()

    assert "slice mine is gone already" == world.change_slice(kind, "mine").reason
    assert "there is no slice other" == world.change_slice(kind, "other").reason


@pytest.mark.parametrize("kind", ["recreate", "restart"])
def test_a_slice_whose_job_is_being_stopped_takes_no_order(world: World, kind: str) -> None:
    """What the job was told comes first."""
    up(world)
    run_on(world)
    for host in world.farm.living:
        host.obeys = False
    world.stop()

    assert "slice mine is busy: job 1 is being stopped" == world.change_slice(kind, "mine").reason


def test_a_spec_that_changes_is_a_new_revision_of_the_job(world: World) -> None:
    """With what of it is new; going on as it was is none."""
    world.run_job()
    world.finish_job(1)
    world.again("resume", spec=spec_of(command=["python", "train.py", "--lr=3e-5"]))
    world.tick_until(world.runs_attempt(1))
    world.finish_job(1)
    world.again("resume")

    (revision,) = world.job().revisions
    assert (1, ("command",), "its owner") == (revision.number, revision.changed, revision.by)
    assert world.job().spec_sha256 == revision.spec_sha256
    assert [False, True, True] == [
        attempt.spec_sha256 == revision.spec_sha256 for attempt in world.attempts()
    ]


def test_a_slice_is_released_while_the_end_of_its_job_is_not_acknowledged(world: World) -> None:
    """Whoever waited for the job need not wait for its hosts as well."""
    bid = up(world)
    run_on(world)
    world.finish_job()
    for host in world.farm.of(bid):
        host.is_mute = True
    world.store.commit([rewritten(world, "slices/mine", job=JOB)])

    assert "accepted" == world.release("mine").outcome
    world.tick_until_quiet()


def rewritten(world: World, path: str, **changes: str) -> Replace:
    """Put a document back to what it was a moment ago."""
    document = world.store.get(path)
    assert document is not None
    return Replace(path, {**document.fields, **changes}, document.token)
