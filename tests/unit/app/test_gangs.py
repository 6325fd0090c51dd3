"""All hosts of a slice run one attempt: they start together and end together."""

from shared.core.causes import Cause
from shared.core.stages import Stage
from tests.unit.app.world import World


def test_a_host_that_finishes_first_waits_for_the_others(world: World) -> None:
    """Exit 0 is no reason to stop anybody, and the others' success is no drain."""
    world.run_job()
    first, second = world.hosts
    second.finish()
    world.ticks(60.0)
    assert Stage.RUNNING is world.job().stage
    assert first.runs is not None
    first.finish()
    world.drain()

    assert Stage.SUCCEEDED is world.job().stage
    assert Cause.SUCCEEDED is world.attempts()[0].cause


def test_hosts_that_never_finish_hang(world: World) -> None:
    """After the grace the others are stopped, and the job resumes where it is."""
    world.run_job(finish_grace_s=20.0)
    world.hosts[1].finish()
    world.ticks(15.0)
    assert Stage.RUNNING is world.job().stage
    assert [] == [a for a in world.attempts() if a.ended_at]
    world.tick_until(world.runs_attempt(1), limit_s=20.0)

    assert Cause.HANG is world.attempts()[0].cause
    assert 1 == world.slice().generation


def test_one_failure_stops_the_others_at_once(world: World) -> None:
    """The cause is the host that failed, not those that were told to go."""
    world.run_job()
    world.hosts[1].finish(3, text="ValueError: no")
    world.drain()

    attempt = world.attempts()[0]
    assert Stage.FAILED is world.job().stage
    assert (Cause.ERROR, 1, 3) == (attempt.cause, attempt.cause_host, attempt.exit_code)
    assert "ValueError: no" == world.job().evidence
    assert [] == [host for host in world.farm.living if host.runs]


def test_a_failure_after_a_newer_checkpoint_is_retried_on_the_same_slice(world: World) -> None:
    """It got further: no crash loop."""
    world.run_job()
    world.hosts[0].checkpoint(10)
    world.hosts[0].finish(1)
    world.tick_until(world.runs_attempt(1), limit_s=5.0)

    assert 1 == world.slice().generation
    assert 10 == world.attempts()[1].start_step


def test_a_failure_without_a_newer_checkpoint_ends_the_job(world: World) -> None:
    """The second attempt failed where it began."""
    world.run_job()
    world.hosts[0].checkpoint(10)
    world.hosts[0].finish(1)
    world.tick_until(world.runs_attempt(1), limit_s=5.0)
    world.hosts[0].finish(1)
    world.drain()

    assert Stage.FAILED is world.job().stage
    assert "it failed without reaching a newer checkpoint" in world.job().reason


def test_a_killed_workload_is_out_of_memory(world: World) -> None:
    """Nobody else sends SIGKILL."""
    world.run_job(on={"oom": "resume:5"})
    world.hosts[1].finish(None, signal=9)
    world.tick_until(world.runs_attempt(1), limit_s=5.0)

    assert (Cause.OOM, 1) == (world.attempts()[0].cause, world.attempts()[0].cause_host)


def test_a_reboot_ends_the_attempt(world: World) -> None:
    """A boot that was not told to start never does; the next attempt names the new one."""
    world.run_job()
    world.hosts[1].reboot()
    world.tick_until(world.runs_attempt(1), limit_s=5.0)

    assert Cause.REBOOTED is world.attempts()[0].cause
    assert 1 == world.slice().generation


def test_a_gang_is_judged_without_a_host_that_does_not_answer(world: World) -> None:
    """After some seconds the cause is what the others said."""
    world.run_job()
    quiet = world.hosts[1]
    quiet.is_mute = quiet.is_cut_off = True
    world.hosts[0].finish(1, text="no")
    world.ticks(world.policy.judge_s - 2.0)
    assert Stage.RUNNING is world.job().stage
    world.ticks(4.0)

    assert Cause.ERROR is world.attempts()[0].cause
    assert Stage.FAILED is world.job().stage


def test_the_next_attempt_waits_for_every_host_of_the_last_one(world: World) -> None:
    """Judged is not dead."""
    world.run_job()
    quiet = world.hosts[1]
    quiet.is_mute = quiet.is_cut_off = True
    world.hosts[0].checkpoint(5)
    world.hosts[0].finish(1)
    world.ticks(15.0)
    assert Stage.PREPARING is world.job().stage
    assert 0 == world.job().attempt
    quiet.is_mute = quiet.is_cut_off = False
    world.tick_until(world.runs_attempt(1), limit_s=5.0)

    assert 1 == world.slice().generation


def test_a_setup_that_always_fails_fails_the_job_with_its_last_words(world: World) -> None:
    """It is tried again some times, by everybody, and then left to its owner."""
    world.gives = False
    world.submit()
    hosts = world.give(world.bid.name)
    for host in hosts:
        host.fails_setup = True
    world.tick_until(world.stands_at(Stage.FAILED))

    assert Cause.SETUP is world.job().cause
    assert (3, "no such package") == (world.job().exit_code, world.job().evidence)
    assert [3, 3] == [host.setups for host in hosts]
    assert [] == world.attempts()


def test_a_setup_that_fails_once_is_tried_again(world: World) -> None:
    """A package index may be down for a moment."""
    world.gives = False
    world.submit()
    hosts = world.give(world.bid.name)
    hosts[0].fails_setup = True
    world.farm.act(world.bus)
    hosts[0].fails_setup = False
    world.tick_until(world.runs_attempt(0))

    assert 2 == hosts[0].setups
    assert 1 == world.job().spent.setups


def test_a_setup_that_never_ends_is_given_up(world: World) -> None:
    """Its own timeout is the agent's affair; this is for agents that say nothing of it."""
    world.gives = False
    world.submit(setup_timeout_s=10.0, on={"setup": "stop"})
    for host in world.give(world.bid.name):
        host.is_slow = True
    world.ticks(world.policy.prepare_s + 5.0, every_s=2.0)
    assert Stage.PREPARING is world.job().stage
    world.ticks(10.0)

    assert Stage.FAILED is world.job().stage
    assert Cause.SETUP is world.job().cause


def test_a_job_that_dies_twice_while_restoring_says_which_step_to_go_on_from(world: World) -> None:
    """Its owner does what it says, and a preemption does not lead back to the bad checkpoint."""
    world.run_job()
    for step in (30, 40):
        world.hosts[0].progress(step)
        world.hosts[0].checkpoint(step)
        world.tick()
    for number in (1, 2):
        world.slices.preempt(world.bid.name) if number == 1 else world.finish_job(1)
        world.tick_until(world.runs_attempt(number))
        world.hosts[0].checkpoint(40)
        world.drain()
    assert Stage.RUNNING is world.job().stage
    world.finish_job(1)
    assert Stage.FAILED is world.job().stage
    assert world.job().reason.endswith(
        "attempts 1 and 2 both failed while restoring step 40; go on from an earlier one:"
        " tpuctl resume 1 --from-step 30"
    )

    world.again(from_step=30)
    world.tick_until(world.runs_attempt(3))
    world.slices.preempt(world.bid.name)
    world.tick_until(world.runs_attempt(4))

    assert [30, 30] == [attempt.from_step for attempt in world.attempts()[3:]]
