"""An invocation that has no time left begins nothing: the next one does it, once."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from pytest_mock import MockerFixture

from shared.app import health_check, push, settle
from shared.app.commit import RECOVERY
from shared.app.perform import Mark
from shared.core.names import cloud_name, labels
from shared.core.situation import Situation
from shared.core.slices import Slice
from shared.deadline import MARGIN_S, Deadline
from shared.errors import OutOfTime, Stockout
from shared.ports import BidRequest, Delivery, Message
from tests.log_lines import captured
from tests.unit.app.world import ZONE, World, spec_of

LIMIT_S = 100.0
ZONES = ["us-central1-a", "us-east1-d"]


@dataclass
class Stopwatch:
    """A clock that only goes forward, when the test says so."""

    now_s: float = 1000.0

    def __call__(self) -> float:
        """Return the seconds."""
        return self.now_s


@pytest.fixture
def watch(world: World) -> Stopwatch:
    """Give the installation a clock for its deadlines."""
    made = Stopwatch()
    world.app = replace(world.app, deadline=Deadline(made))
    return made


def due(world: World, subscription: str) -> Delivery:
    """Take the next message of a subscription."""
    (delivery,) = world.bus.pull(subscription, limit=1)
    return delivery


def receive(world: World, delivery: Delivery) -> push.Answer:
    """Deliver it to a function that has ``LIMIT_S`` seconds."""
    return push.receive(world.app, delivery, limit_s=LIMIT_S)


def slow(world: World, watch: Stopwatch, mocker: MockerFixture, read: str = "get") -> None:
    """Let every read of a document take until the margin begins."""
    true: Callable[..., object] = getattr(world.store, read)

    def passing(*given: object) -> object:
        watch.now_s += LIMIT_S - MARGIN_S
        return true(*given)

    mocker.patch.object(world.store, read, side_effect=passing)


def submitted(world: World, **spec: object) -> None:
    """Leave the bids of a new job to recovery."""
    fields = {
        "version": 1,
        "id": "order-1",
        "kind": "submit",
        "owner": "ada",
        "args": {
            "job": "job000000001",
            "slice_uid": "uid00001",
            "spec": spec_of(**spec),
        },
    }
    world.bus.publish("commands", [Message(json.dumps(fields).encode(), {"kind": "command"})])
    order = due(world, "launch-commands")
    assert push.DONE == world.handle(order)
    world.bus.ack(order)


def test_a_bid_that_is_due_too_late_is_created_by_the_next_delivery(
    world: World, watch: Stopwatch, mocker: MockerFixture
) -> None:
    """And only once."""
    submitted(world)
    wake = due(world, "recovery")
    create = mocker.spy(world.slices, "create")
    slow(world, watch, mocker)
    late = receive(world, wake)

    assert (True, 0) == (late.retry, create.call_count)

    mocker.stop(world.store.get)  # type: ignore[arg-type]  # it is patched
    assert push.DONE == receive(world, wake)
    assert push.DONE == receive(world, wake)
    assert 1 == create.call_count


def test_in_time_everything_is_done(world: World, watch: Stopwatch) -> None:
    """The same delivery, a little earlier."""
    submitted(world)
    wake = due(world, "recovery")
    watch.now_s += 10_000.0

    assert push.DONE == receive(world, wake)
    assert 1 == len(world.slices.names)


def test_a_mandate_that_is_due_too_late_is_not_written(
    world: World, watch: Stopwatch, mocker: MockerFixture
) -> None:
    """The next delivery writes it."""
    world.loses = lambda delivery: delivery.subscription == "launch"
    submitted(world)
    world.drain()
    world.tick()
    fields = {"slice": world.job().slice}
    message = Message(json.dumps(fields).encode())
    wake = Delivery("1", "launch", "launches", message, world.clock.now(), 1)
    put = mocker.spy(world.blobs, "put")
    slow(world, watch, mocker)

    assert receive(world, wake).retry
    assert 0 == put.call_count

    mocker.stop(world.store.get)  # type: ignore[arg-type]  # it is patched
    assert push.DONE == receive(world, wake)
    assert 1 == put.call_count


def test_what_was_done_before_the_time_was_up_is_remembered(
    world: World, watch: Stopwatch, mocker: MockerFixture
) -> None:
    """The zone said no: it is not asked again, and what follows is left to the next delivery."""
    submitted(world, accelerator_type="v5p-16", zones=ZONES)

    def slow_create(request: BidRequest) -> str:
        watch.now_s += LIMIT_S
        raise Stockout("no capacity", zone=request.zone)

    create = mocker.patch.object(world.slices, "create", side_effect=slow_create)
    delete = mocker.spy(world.slices, "delete")
    wake = due(world, "recovery")

    assert receive(world, wake).retry
    assert (1, 0) == (create.call_count, delete.call_count)
    assert push.DONE == receive(world, wake)
    assert (1, 1) == (create.call_count, delete.call_count)


def test_a_mark_is_kept_when_the_next_effect_has_no_time(
    world: World, mocker: MockerFixture
) -> None:
    """What was done is written down first, then the time is said to be up."""
    world.run_job()

    def two_effects(_: object, now: Situation, __: object) -> Iterator[Mark]:
        if now.slice.reason != "done":
            yield lambda now: replace(now, slice=replace(now.slice, reason="done"))
        raise OutOfTime("the time is up")

    mocker.patch.dict(settle._PERFORMERS, {RECOVERY: two_effects})
    with pytest.raises(OutOfTime):
        settle.settle(world.app, world.job().slice, who=RECOVERY)

    assert "done" == world.slice().reason


def test_an_orphan_is_left_to_the_next_delivery(
    world: World, watch: Stopwatch, mocker: MockerFixture
) -> None:
    """A delete is an effect like any other."""
    name = cloud_name("abc123", "deadbeef", 1, "0")
    tags = labels("abc123", "deadbeef", 1, "0")
    world.slices.create(BidRequest(name, ZONE, "v4-16", "r", "spot", tags, {}, request_id=name))
    fields = {"zone": ZONE, "name": name}
    message = Message(json.dumps(fields).encode(), {"kind": "orphan-found"})
    found = Delivery("1", "recovery", "preemptions", message, world.clock.now(), 1)
    slow(world, watch, mocker, "query")

    assert receive(world, found).retry
    assert [name] == list(world.slices.names)


@pytest.fixture
def three(world: World) -> World:
    """Run three jobs whose slices are all preempted."""
    for number in range(3):
        world.run_job(f"job00000000{number + 1}")
    for name in list(world.slices.names):
        world.slices.preempt(name)
    return world


def test_a_tick_that_runs_out_of_time_goes_on_where_it_stopped(
    three: World, watch: Stopwatch, mocker: MockerFixture
) -> None:
    """One slice a tick, each in its turn: none is left for ever."""
    observed: list[str] = []

    def slow_slice(_: object, slice_: Slice, *__: object) -> bool:
        observed.append(slice_.name)
        watch.now_s += LIMIT_S
        return True

    mocker.patch.object(health_check, "_observe_slice", side_effect=slow_slice)
    report = mocker.patch.object(health_check, "report_orphans")
    names = sorted(str(fields["name"]) for fields in three.all("slices"))
    for _ in range(4):
        health_check.run(three.app, limit_s=LIMIT_S)

    assert [*names, names[0]] == observed
    report.assert_not_called()


def test_a_tick_says_that_it_stopped(three: World, watch: Stopwatch, mocker: MockerFixture) -> None:
    """In one line that names the slice."""
    slow(three, watch, mocker, "query")
    with captured() as lines:
        health_check.run(three.app, limit_s=LIMIT_S)

    told = [line for line in lines.all if line["severity"] == "WARNING"]
    assert told
    assert all("time" in str(line["message"]) for line in told)


def test_without_a_limit_the_time_is_never_up() -> None:
    """A process of its own has no zombie."""
    assert not Deadline().is_over
    assert not Deadline().within(math.inf).is_over
