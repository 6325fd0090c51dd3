"""Moments at which the control plane has something to do, and how a world gets there.

Each function brings a world to where something is under way that nobody has taken in yet;
``under_way`` goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from shared.app import push
from shared.app.messages import wake_launch
from shared.core.names import cloud_name, labels
from shared.core.orders import OrderKind
from shared.errors import NotAuthorized
from shared.host import agent
from shared.ports import BidRequest, Message
from tests.agents import GRACE_S, Host
from tests.crash.points import Fault, Point, Tap, tapped
from tests.crash.worlds import CheapWorld
from tests.unit.app.records import JOB
from tests.unit.app.world import OWNER, ZONE, grant_of, spec_of

Prepare = Callable[[CheapWorld], object]
ORPHAN: Final = cloud_name("abc123", "deadbeef", 1, "0")


def give(world: CheapWorld, kind: str, **args: Any) -> None:
    """Publish an order, and let nobody hear it yet."""
    fields = {"version": 1, "id": f"the-{kind}", "kind": kind, "owner": OWNER, "args": args}
    message = Message(json.dumps(fields).encode(), {"kind": "command", "version": "1"})
    world.say("commands", message)


def submission(**more: Any) -> dict[str, Any]:
    """Say what a submit orders."""
    return {"job": JOB, "spec": spec_of(), "slice_uid": "uid00001", **more}


def asked_for(world: CheapWorld) -> None:
    """Submit a job, up to a request that waits in the cloud."""
    world.submit()


def prepared_at_once(world: CheapWorld) -> None:
    """Bring up hosts that prepare as they boot; what they have to say is under way."""
    asked_for(world)
    world.cloud_moves()
    world.drain_but("report")


def booted(world: CheapWorld) -> None:
    """Bring up hosts whose setup takes its time; what they have to say is under way."""
    asked_for(world)
    world.cloud_moves()
    for host in world.farm.living:
        host.is_slow = True
    world.drain_but("report")


def prepared(world: CheapWorld) -> None:
    """Let the hosts of a slice that serves prepare; what they have to say is under way."""
    booted(world)
    world.pass_on("report")
    world.drain_but("report")
    world.pass_on("report")
    for host in world.hosts:
        finish_setup(host)
    world.drain_but("report")


def finish_setup(host: Host) -> None:
    """Let a setup end that took its time."""
    host.is_slow = False
    under_way = host.state.preparing
    if under_way is not None:
        host._take(agent.PreparationEnded(under_way.spec, GRACE_S, None, host._now))


def running(world: CheapWorld) -> None:
    """Let it run, and save its first step."""
    world.run_job()
    world.farm.each(lambda host: host.checkpoint(5))
    world.drain()
    world.ticks(30.0, every_s=5.0)


def ended(world: CheapWorld, exit_code: int = 0) -> None:
    """Let it end; what its hosts have to say is under way."""
    running(world)
    world.farm.each(lambda host: host.finish(exit_code))
    world.drain_but("report")


def over(world: CheapWorld) -> None:
    """Let it succeed, and everything go."""
    running(world)
    world.finish_job()
    world.tick_until_quiet()


def failed(world: CheapWorld) -> None:
    """Let it fail for good; its slice is held."""
    world.run_job()
    world.finish_job(1)


def lost(world: CheapWorld) -> None:
    """Take its node away; nobody noticed yet."""
    running(world)
    world.slices.preempt(world.bid.name)


def silent(world: CheapWorld) -> None:
    """Let one host be dead for as long as it takes."""
    running(world)
    world.hosts[1].is_dead = True
    world.ticks(19.0, every_s=1.0)
    world.clock.advance(3.0)


def left_in_storage(world: CheapWorld) -> None:
    """Let it end on hosts that can say so in storage alone, and be silent for long enough."""
    running(world)
    for host in world.hosts:
        host.cannot_publish = True
    world.farm.each(lambda host: host.finish(0))
    world.ticks(19.0, every_s=1.0)
    world.clock.advance(3.0)


def noticed(world: CheapWorld) -> None:
    """Tell one host that it will go."""
    running(world)
    world.hosts[0].notice()
    world.drain_but("report")


def nothing(_: CheapWorld) -> None:
    """Leave the world as it is."""


def with_grant(world: CheapWorld) -> None:
    """Grant what the job asks for."""
    world.order("grant-add", grant_of())


def stopping(world: CheapWorld) -> None:
    """Stop a job whose hosts take their time."""
    running(world)
    for host in world.hosts:
        host.obeys = False
    world.stop()


def made_by_others(world: CheapWorld) -> None:
    """Let somebody else make a TPU."""
    world.slices.plant("theirs", ZONE)


def adopted(world: CheapWorld) -> None:
    """Adopt what somebody else made, as disposable; the tick has seen it."""
    made_by_others(world)
    world.adopt(disposable=True)
    world.ticks(2.0)


def progressed(world: CheapWorld) -> None:
    """Let a host reach a step, and save it."""
    running(world)
    world.hosts[0].progress(7)
    world.hosts[0].checkpoint(7)
    world.clock.advance(5.0)
    world.drain_but("report")


def orphaned(world: CheapWorld) -> None:
    """Let something of ours be in the cloud that no document knows."""
    running(world)
    tags = labels("abc123", "deadbeef", 1, "0")
    world.slices.create(BidRequest(ORPHAN, ZONE, "v4-16", "rt", "spot", tags, {}, ORPHAN))
    world.gives = False


def looked_at(world: CheapWorld) -> None:
    """Let a while pass since somebody looked at the slice of a job that runs."""
    running(world)
    world.clock.advance(1.0)


def vanished(world: CheapWorld) -> None:
    """Let somebody delete the slice of a job that runs."""
    looked_at(world)
    world.slices.vanish(world.bid.name)


def refused_later(world: CheapWorld) -> None:
    """Let the operation fail that should have brought the request."""
    world.slices.slow_creates = True
    asked_for(world)
    world.slices.slow_creates = False
    world.slices.fail_operation(world.bid.name, "RESOURCE_EXHAUSTED: no more capacity")
    world.clock.advance(1.0)


def unpublished(world: CheapWorld) -> None:
    """Commit an order whose events nobody could publish."""
    give(world, OrderKind.SUBMIT, **submission())
    fail_once(world, "launch-commands", "bus.publish")
    world.clock.advance(2.0)


def parked_order(world: CheapWorld) -> None:
    """Put an order aside that nobody was allowed to carry out at that moment."""
    give(world, OrderKind.SUBMIT, **submission())
    fail_once(world, "launch-commands", "store.get")
    world.drain()


def parked_wake(world: CheapWorld) -> None:
    """Put an internal event aside."""
    asked_for(world)
    world.say("launches", wake_launch(world.job().slice, "a wake").message())
    fail_once(world, "launch", "store.get")
    world.drain()


def paused(world: CheapWorld) -> None:
    """Let nothing be created."""
    world.order("pause", {"reason": "for a while"})


def waiting_for_the_end_of_a_pause(world: CheapWorld) -> None:
    """Submit a job of which nothing is created."""
    paused(world)
    asked_for(world)


def waiting_for_a_create(world: CheapWorld) -> None:
    """Submit a job while all is paused; nobody has asked for its slice yet."""
    paused(world)
    give(world, OrderKind.SUBMIT, **submission())


def fail_once(world: CheapWorld, who: str, call: str) -> None:
    """Let the first such call of an invocation be refused."""
    (delivery,) = world.pending(who)
    counted = Tap()
    push.receive(tapped(world.copy().app, counted), delivery)
    point = Point(counted.calls.index(call), call, Fault.FAILS, NotAuthorized)
    push.receive(tapped(world.app, Tap(point)), delivery)
    world.bus.ack(delivery)


def alerted(world: CheapWorld) -> None:
    """Let there be something to tell people."""
    lost(world)
    world.clock.advance(0.5)
    world.check_health()
