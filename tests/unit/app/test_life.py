"""The life of a job, from its submission to the last trace of its slice."""

from shared.core.causes import Cause
from shared.core.stages import Stage
from tests.unit.app.records import JOB
from tests.unit.app.world import World


def test_a_job_goes_on_after_a_notice_and_succeeds(world: World) -> None:
    """Submit, run, notice, new slice, run, finish: the whole way."""
    world.run_job()
    first = world.bid.name
    world.hosts[1].notice()
    world.drain()
    assert Stage.RECOVERING is world.job().stage
    world.tick_until(world.runs_attempt(1))
    world.finish_job()

    assert Stage.SUCCEEDED is world.job().stage
    assert [Cause.PREEMPTED, Cause.SUCCEEDED] == [a.cause for a in world.attempts()]
    assert [0, 1] == [attempt.number for attempt in world.attempts()]
    assert world.bid.name != first
    world.tick_until_quiet()
    assert world.slice().generation == 2
    assert world.job(JOB).writer_is_dead
