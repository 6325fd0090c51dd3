"""What is under way when a use case is invoked: made from the moments before it.

Each function that is returned brings a world to where one message waits for somebody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shared.app.messages import wake_recovery
from shared.core.orders import OrderKind
from shared.ports import Message, Query
from shared.topology import DEAD_LETTER_SUBSCRIPTION
from tests.audit_entries import PREEMPTED, as_message, tpu_entry
from tests.crash.moments import Prepare, give
from tests.crash.worlds import CheapWorld
from tests.unit.app.audit_log import of_host
from tests.unit.app.records import JOB


def order(kind: OrderKind, before: Prepare, /, **args: Any) -> Prepare:
    """Have an order given."""

    def prepare(world: CheapWorld) -> None:
        before(world)
        give(world, kind, **args)

    return prepare


def again(kind: OrderKind, before: Prepare) -> Prepare:
    """Have an order given that lets a job go on."""

    def prepare(world: CheapWorld) -> None:
        before(world)
        seen = world.job().attempt
        give(world, kind, job=JOB, seen_attempt=seen, slice_uid="new00001")

    return prepare


def retried(before: Prepare) -> Prepare:
    """Order that what was put aside is handed over again."""

    def prepare(world: CheapWorld) -> None:
        before(world)
        (document,) = world.store.query(Query("parked"))
        give(world, OrderKind.PARKED_RETRY, key=document.path.rpartition("/")[2])

    return prepare


def then(before: Prepare, *passed_on: str) -> Prepare:
    """Let some hear what is under way, and what follows from it wait."""

    def prepare(world: CheapWorld) -> None:
        before(world)
        for who in passed_on:
            world.pass_on(who)

    return prepare


def ticked(before: Prepare, held: str, *passed_on: str) -> Prepare:
    """Tick, and let everybody hear of it but one."""

    def prepare(world: CheapWorld) -> None:
        before(world)
        world.clock.advance(0.5)
        world.check_health()
        for who in passed_on:
            world.pass_on(who)
        world.drain_but(held)

    return prepare


def in_between(before: Prepare, held: str) -> Prepare:
    """Let everybody act but one."""

    def prepare(world: CheapWorld) -> None:
        before(world)
        world.drain_but(held)

    return prepare


def said(before: Prepare, topic: str, message: Callable[[CheapWorld], Message]) -> Prepare:
    """Have something said on a topic."""

    def prepare(world: CheapWorld) -> None:
        before(world)
        world.say(topic, message(world))

    return prepare


def dead_letter(_: CheapWorld) -> Message:
    """Write what a subscription gave up."""
    return Message(b"{}", {"kind": "snapshot", DEAD_LETTER_SUBSCRIPTION: "report"})


def poison(_: CheapWorld) -> Message:
    """Write what nobody can read."""
    return Message(b"poison", {"kind": "snapshot"})


def preempted_vm(world: CheapWorld) -> Message:
    """Write what is logged when a VM is preempted."""
    return as_message(of_host(world, PREEMPTED))


def touched(world: CheapWorld) -> Message:
    """Write what is logged when somebody deletes a queued resource."""
    return as_message(tpu_entry(world.bid.name, world.clock.now()))


def look(world: CheapWorld) -> Message:
    """Write what makes recovery look at the cloud."""
    return wake_recovery(world.job().slice, "a look", look=True).message()
