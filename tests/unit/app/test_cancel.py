"""Cancel wins: wherever a job is when its owner says stop, it ends, and nothing is left of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytest_mock import MockerFixture

from shared.core.orders import Verdict
from shared.core.stages import Stage
from shared.errors import Busy, Unavailable
from tests.unit.app.world import World

Lead = Callable[[World, MockerFixture], None]

# --- Ways to where a job is stopped -------------------------------------------------------------


def without_mandate(world: World, mocker: MockerFixture) -> None:
    """Nothing was written and so nothing was asked for."""
    mocker.patch.object(world.blobs, "put", side_effect=Unavailable("no bucket"))
    world.submit()


def intended(world: World, mocker: MockerFixture) -> None:
    """The cloud does not take the request."""
    mocker.patch.object(world.slices, "create", side_effect=Unavailable("no cloud"))
    world.submit()


def paused(world: World, _: MockerFixture) -> None:
    """Somebody pulled the brake: nothing is created."""
    assert Verdict.ACCEPTED is world.outcome(world.order("pause", {"reason": "too dear"})).outcome
    world.submit()
    world.tick()
    assert [] == list(world.slices.names)


def requested(world: World, _: MockerFixture) -> None:
    """The request was taken and is not there yet."""
    world.slices.slow_creates = True
    world.submit()
    assert [] == list(world.slices.names)


def created_unheard(world: World, mocker: MockerFixture) -> None:
    """The request was made, and the reply was lost."""
    create = world.slices.create

    def lose_the_reply(request: object) -> str:
        create(request)  # type: ignore[arg-type]
        raise Unavailable("no reply")

    mocker.patch.object(world.slices, "create", side_effect=lose_the_reply)
    world.submit()
    assert 1 == len(world.slices.names)


def waiting(world: World, _: MockerFixture) -> None:
    """There is no capacity."""
    world.gives = False
    world.submit()
    world.tick()


def ready(world: World, _: MockerFixture) -> None:
    """The node is there, its hosts boot."""
    waiting(world, _)
    world.slices.make_ready(world.bid.name)
    world.tick()


def half_booted(world: World, _: MockerFixture) -> None:
    """One host speaks, the other one boots."""
    waiting(world, _)
    world.slices.make_ready(world.bid.name)
    world.farm.boot(world.bid.name, hosts=1)
    world.tick()


def preparing(world: World, _: MockerFixture) -> None:
    """Claimed; the setup takes its time."""
    waiting(world, _)
    for host in world.give(world.bid.name):
        host.is_slow = True
    world.tick()
    assert Stage.PREPARING is world.job().stage


def setup_failed(world: World, _: MockerFixture) -> None:
    """The setup failed once on one host, and is tried again."""
    waiting(world, _)
    failing, slow = world.give(world.bid.name)
    failing.fails_setup = slow.is_slow = True
    world.clock.advance(1.0)
    world.check_health()
    while not world.job().spent.setups:
        for delivery in world._pull():
            world.deliver(delivery)
        world.farm.act(world.bus)
    failing.is_slow = True


def start_unwritten(world: World, mocker: MockerFixture) -> None:
    """An attempt was decided, and its mandate cannot be written."""
    put = world.blobs.put

    def refuse(name: str, data: bytes, **how: object) -> object:
        if b'"action":"start"' in data:
            raise Unavailable("no bucket")
        return put(name, data, **how)  # type: ignore[arg-type]

    mocker.patch.object(world.blobs, "put", side_effect=refuse)
    world.submit()
    world.tick_until(world.stands_at(Stage.RUNNING))


def start_unread(world: World, mocker: MockerFixture) -> None:
    """The mandate is written, and no host has read it."""
    put = world.blobs.put

    def cut_off(name: str, data: bytes, **how: object) -> object:
        for host in world.farm.living:
            host.is_cut_off = host.is_cut_off or b'"action":"start"' in data
        return put(name, data, **how)  # type: ignore[arg-type]

    mocker.patch.object(world.blobs, "put", side_effect=cut_off)
    world.submit()
    world.tick_until(world.stands_at(Stage.RUNNING))
    assert [None, None] == [host.runs for host in world.hosts]


def running(world: World, _: MockerFixture) -> None:
    """The command runs on all hosts."""
    world.run_job()


def stubborn(world: World, _: MockerFixture) -> None:
    """The command does not go when it is told to."""
    world.run_job()
    world.farm.each(lambda host: setattr(host, "obeys", False))


def noticed(world: World, _: MockerFixture) -> None:
    """A host was told that it will be preempted; the command saves as long as it may."""
    stubborn(world, _)
    world.gives = False
    world.hosts[0].notice()
    world.drain()
    assert Stage.RECOVERING is world.job().stage


def ending(world: World, _: MockerFixture) -> None:
    """One host failed, the other one does not go."""
    stubborn(world, _)
    world.bus.publish("reports", [world.hosts[1].snapshot()])
    failed, other = world.hosts
    other.is_mute = other.is_cut_off = True
    failed.finish(1)
    world.drain()
    assert world.job().ending is not None


def finishing(world: World, _: MockerFixture) -> None:
    """One host is done, the other one goes on."""
    world.run_job()
    world.hosts[0].finish()
    world.drain()
    assert world.job().finishing_since is not None


def retrying(world: World, _: MockerFixture) -> None:
    """The first attempt failed, the next one is prepared on the same slice."""
    world.run_job()
    world.farm.each(lambda host: host.checkpoint(5))
    for host in world.hosts:
        host.is_cut_off = True
    world.farm.each(lambda host: host.finish(1))
    world.drain()
    assert Stage.PREPARING is world.job().stage


def recovering(world: World, _: MockerFixture) -> None:
    """The slice was preempted, and there is no other."""
    world.run_job()
    world.gives = False
    world.slices.preempt(world.bid.name)
    world.tick()
    assert Stage.RECOVERING is world.job().stage


def undead(world: World, _: MockerFixture) -> None:
    """The next slice is prepared, and the last attempt may still live."""
    world.run_job()
    world.slices.slow_deletes = True
    for host in world.hosts:
        host.is_cut_off = host.is_mute = True
        host.obeys = False
    world.slices.set_node(world.bid.name, health="HEALTHY")
    world.slices.set_state(world.bid.name, "SUSPENDING")
    world.tick_until(lambda: world.job().prepared_at is not None and not world.job().writer_is_dead)


def undeletable(world: World, mocker: MockerFixture) -> None:
    """The cloud takes no deletes for now."""
    world.run_job()
    mocker.patch.object(world.slices, "delete", side_effect=Busy("is being changed"))


def stopping(world: World, _: MockerFixture) -> None:
    """It was told to stop, and takes its grace."""
    world.run_job(grace_s=60.0)
    world.farm.each(lambda host: setattr(host, "obeys", False))
    assert Verdict.ACCEPTED is world.stop().outcome
    assert Stage.STOPPING is world.job().stage


def resumed_while_stopping(world: World, _: MockerFixture) -> None:
    """Its owner changed their mind, and changes it again."""
    stopping(world, _)
    assert Verdict.ACCEPTED is world.again().outcome


POINTS: tuple[Lead, ...] = (
    without_mandate,
    intended,
    paused,
    requested,
    created_unheard,
    waiting,
    ready,
    half_booted,
    preparing,
    setup_failed,
    start_unwritten,
    start_unread,
    running,
    stubborn,
    noticed,
    ending,
    finishing,
    retrying,
    recovering,
    undead,
    undeletable,
    stopping,
    resumed_while_stopping,
)


def peace(world: World, mocker: MockerFixture) -> None:
    """Nothing fails any more, and there is capacity for everybody."""
    mocker.stopall()
    world.gives = True
    world.slices.slow_creates = world.slices.slow_deletes = False
    for name in (*world.slices._coming, *world.slices.names):
        if name in world.slices._coming:
            world.slices.finish_create(name)
    for host in world.farm.living:
        host.is_cut_off = host.is_mute = False
        host.obeys = True


@pytest.mark.parametrize("kill", [False, True], ids=["stop", "kill"])
@pytest.mark.parametrize("lead", POINTS, ids=lambda lead: lead.__name__)
def test_a_stop_wins_wherever_the_job_is(
    world: World, mocker: MockerFixture, lead: Lead, *, kill: bool
) -> None:
    """It is accepted, the job is cancelled, no attempt starts after it, and nothing is left."""
    lead(world, mocker)
    attempts = [attempt.number for attempt in world.attempts()]

    assert Verdict.ACCEPTED is world.stop(kill=kill).outcome
    assert world.job().stage in {Stage.STOPPING, Stage.CANCELLED}
    peace(world, mocker)
    world.tick_until(world.stands_at(Stage.CANCELLED))
    assert [] == [host for host in world.farm.living if host.runs]
    world.tick_until_quiet()

    assert attempts == [attempt.number for attempt in world.attempts()]
    assert Stage.CANCELLED is world.job().stage
    assert world.job().writer_is_dead
    assert all(attempt.ended_at is not None for attempt in world.attempts())


@pytest.mark.parametrize("exit_code, stage", [(0, Stage.SUCCEEDED), (1, Stage.FAILED)])
def test_an_end_that_was_faster_stays_what_it_was(
    world: World, exit_code: int, stage: Stage
) -> None:
    """The order is refused, and says so; a slice that is held can be let go."""
    world.run_job()
    world.finish_job(exit_code)
    refused = world.stop()

    assert Verdict.REFUSED is refused.outcome
    assert refused.reason.startswith(f"job 1 has ended already: {stage}")
    assert ("tpuctl slice rm digits-1" in refused.reason) is (stage is Stage.FAILED)
    assert stage is world.job().stage
