"""Users' orders: carried out once, or refused with a reason."""

import json

from shared.core.stages import Stage
from shared.ports import Message
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, World, spec_of


def test_an_order_that_comes_too_late_is_refused(world: World) -> None:
    """Who gave it has long given up."""
    args = {"job": JOB, "spec": spec_of(), "slice_uid": "uid00001"}
    fields = {"version": 1, "id": "late", "kind": "submit", "owner": "ada", "args": args}
    world.bus.publish("commands", [Message(json.dumps(fields).encode())])
    world.clock.advance(world.policy.command_s + 1.0)
    world.drain()

    assert "it came more than ten minutes late: ask again" == world.outcome("late").reason
    assert [] == world.all("jobs")


def test_the_same_order_twice_is_one_order(world: World) -> None:
    """The client repeats itself; the job is one, and its number."""
    args = {"job": JOB, "spec": spec_of(), "slice_uid": "uid00001"}
    first = world.outcome(world.order("submit", args, order_id="twice"))
    second = world.outcome(world.order("submit", args, order_id="twice"))

    assert first == second
    assert 0 == sum(world.bus.backlog().values())
    assert 1 == len(world.all("jobs"))
    assert 1 == world.fields("owners/ada")["number"]


def test_an_order_about_an_unknown_job_is_refused(world: World) -> None:
    """With its id."""
    assert f"there is no job {JOB}" == world.stop().reason


def test_a_job_id_is_used_once(world: World) -> None:
    """Another order with the id of a job that is there is refused."""
    world.submit()

    assert f"there is a job with the id {JOB} already" == world.submit().reason
    assert 1 == len(world.all("jobs"))


def test_a_chosen_name_that_is_taken_is_refused(world: World) -> None:
    """A name stands for one slice at a time."""
    world.submit(name="mine")

    expected = "the name mine is taken by another slice"
    assert expected == world.submit(OTHER_JOB, name="mine").reason
    assert 1 == len(world.slices.names)


def test_a_name_that_is_free_again_gets_another_uid(world: World) -> None:
    """Nothing of the old slice is mistaken for the new one."""
    world.run_job(name="mine")
    world.finish_job()
    world.tick_until_quiet()
    world.run_job(OTHER_JOB, name="mine")
    world.finish_job()
    world.tick_until_quiet()

    assert "uid00002" == world.slice(OTHER_JOB).uid
    assert Stage.SUCCEEDED is world.job(OTHER_JOB).stage


def test_a_derived_name_that_is_taken_gets_longer(world: World) -> None:
    """Nobody chose it, so nobody is refused."""
    world.submit(name="digits-2")
    world.submit(OTHER_JOB)

    assert "digits-2-uid00002" == world.job(OTHER_JOB).slice


def test_jobs_of_an_owner_are_numbered(world: World) -> None:
    """One after the other; a refused one takes no number."""
    first = world.submit()
    world.submit(place="elsewhere")
    second = world.submit(OTHER_JOB)

    assert [1, 2] == [first.number, second.number]


def test_a_spec_that_makes_no_sense_is_refused_with_its_field(world: World) -> None:
    """Clients check it first, but not every client is ours."""
    outcome = world.submit(accelerator_type="v9-1")

    assert "refused" == outcome.outcome
    assert outcome.reason.startswith("accelerator_type: ")
    assert [] == world.all("jobs")


def test_an_order_that_nobody_understands_is_parked(world: World) -> None:
    """It blocks nobody, and can be looked at."""
    world.publish("commands", Message(b'{"version": 1, "id": "x", "kind": "explode"}'))

    (parked,) = world.all("parked")
    assert "launch-commands" == parked["source"]
    assert str(parked["reason"]).startswith("command: ")
    assert "accepted" == world.submit().outcome
