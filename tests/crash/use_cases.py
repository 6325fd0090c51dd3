"""Every use case at a moment at which it has something to do: the invocations that are enumerated.

Two or three of a kind differ in what they find.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from shared.core.orders import OrderKind
from tests.crash.moments import (
    Prepare,
    adopted,
    alerted,
    asked_for,
    booted,
    ended,
    failed,
    left_in_storage,
    looked_at,
    lost,
    made_by_others,
    nothing,
    noticed,
    orphaned,
    over,
    parked_order,
    parked_wake,
    prepared,
    prepared_at_once,
    progressed,
    refused_later,
    running,
    silent,
    stopping,
    submission,
    unpublished,
    vanished,
    waiting_for_a_create,
    waiting_for_the_end_of_a_pause,
    with_grant,
)
from tests.crash.under_way import (
    again,
    dead_letter,
    in_between,
    look,
    order,
    poison,
    preempted_vm,
    retried,
    said,
    then,
    ticked,
    touched,
)
from tests.unit.app.records import JOB
from tests.unit.app.world import OTHER_JOB, ZONE, grant_of, spec_of

TICK: Final = "health_check"
submitted: Final = order(OrderKind.SUBMIT, nothing, **submission())


@dataclass(frozen=True, slots=True)
class UseCase:
    """One invocation of one use case.

    ``who`` is its subscription, or the tick. ``prepare`` brings a world to where a message waits
    for it: of several the last one is taken (``is_last``), after the others were handled, or the
    first. ``order`` is what a user's order is about.
    """

    name: str
    who: str
    prepare: Prepare
    is_last: bool = False
    order: OrderKind | None = None

    @property
    def id(self) -> str:
        """How tests call it."""
        return f"{self.who}: {self.name}"


def given(name: str, kind: OrderKind, before: Prepare, /, **args: Any) -> UseCase:
    """Make the case of an order."""
    return UseCase(name, "launch-commands", order(kind, before, **args), order=kind)


def given_again(name: str, kind: OrderKind, before: Prepare) -> UseCase:
    """Make the case of an order that lets a job go on."""
    return UseCase(name, "launch-commands", again(kind, before), order=kind)


def given_to_retry(name: str, before: Prepare) -> UseCase:
    """Make the case of an order about what was put aside."""
    return UseCase(name, "launch-commands", retried(before), order=OrderKind.PARKED_RETRY)


_JOB: Final = {"job": JOB}
_MINE: Final = {
    "slice": "mine",
    "slice_uid": "named001",
    "accelerator_type": "v4-16",
    "zones": [ZONE],
}
_THEIRS: Final = {"slice": "theirs", "slice_uid": "adopt001", "node": "theirs", "zone": ZONE}
ORDERS: Final = (
    given("submit", OrderKind.SUBMIT, nothing, **submission()),
    given("submit with a grant", OrderKind.SUBMIT, with_grant, **submission()),
    given(
        "submit on a warm slice",
        OrderKind.SUBMIT,
        failed,
        **submission(job=OTHER_JOB, on="digits-1", spec=spec_of()),
    ),
    given("submit of nonsense", OrderKind.SUBMIT, nothing, **submission(spec={"name": "x"})),
    given("stop", OrderKind.STOP, running, **_JOB),
    given("stop while it waits", OrderKind.STOP, asked_for, **_JOB),
    given("stop while it prepares", OrderKind.STOP, prepared, **_JOB),
    given("kill", OrderKind.STOP, running, **_JOB, kill=True),
    given("kill after stop", OrderKind.STOP, stopping, **_JOB, kill=True),
    given_again("resume where it failed", OrderKind.RESUME, failed),
    given_again("resume elsewhere", OrderKind.RESUME, over),
    given_again("rerun", OrderKind.RERUN, over),
    given("release", OrderKind.RELEASE, failed, slice="digits-1"),
    given("slice-create", OrderKind.SLICE_CREATE, nothing, **_MINE),
    given("slice-recreate", OrderKind.SLICE_RECREATE, running, slice="digits-1"),
    given("slice-restart", OrderKind.SLICE_RESTART, running, slice="digits-1"),
    given("slice-adopt", OrderKind.SLICE_ADOPT, made_by_others, **_THEIRS),
    given("grant-add", OrderKind.GRANT_ADD, nothing, **grant_of()),
    given("grant-remove", OrderKind.GRANT_REMOVE, with_grant, name="trc"),
    given("pause", OrderKind.PAUSE, running, reason="for a while"),
    given("unpause", OrderKind.UNPAUSE, waiting_for_the_end_of_a_pause),
    given("sweep", OrderKind.SWEEP, running, zones=[ZONE]),
    given_to_retry("parked-retry of an order", parked_order),
    given_to_retry("parked-retry of an event", parked_wake),
)
WORK: Final = (
    UseCase(
        "start that recovery decided",
        "launch",
        in_between(then(prepared_at_once, "report"), "launch"),
    ),
    UseCase("start", "launch", then(prepared, "report")),
    UseCase("end of a gang", "launch", then(lambda world: ended(world, 3), "report")),
    UseCase("success", "launch", then(ended, "report")),
    UseCase("end of a lost generation", "launch", ticked(lost, "launch")),
    UseCase("a silent host", "launch", ticked(silent, "launch")),
    UseCase("an end that was left in storage", "launch", ticked(left_in_storage, "launch")),
)
CAPACITY: Final = (
    UseCase(
        "create",
        "recovery",
        in_between(order(OrderKind.SUBMIT, nothing, **submission()), "recovery"),
    ),
    UseCase("create while all is paused", "recovery", in_between(waiting_for_a_create, "recovery")),
    UseCase("claim", "recovery", then(booted, "report")),
    UseCase("claim and start", "recovery", then(prepared_at_once, "report")),
    UseCase("loss by notice", "recovery", then(noticed, "report")),
    UseCase("create and delete after a loss", "recovery", ticked(lost, "recovery", "launch")),
    UseCase("delete", "recovery", in_between(then(ended, "report"), "recovery")),
    UseCase(
        "delete of what was adopted",
        "recovery",
        in_between(order(OrderKind.RELEASE, adopted, slice="theirs"), "recovery"),
    ),
    UseCase("orphan", "recovery", ticked(orphaned, "recovery")),
    UseCase("look at what is gone", "recovery", said(vanished, "preemptions", look)),
    UseCase("look at what is there", "recovery", said(looked_at, "preemptions", look)),
)
REPORTS: Final = (
    UseCase("boot", "report", booted),
    UseCase("last boot", "report", booted, is_last=True),
    UseCase("prepared", "report", prepared, is_last=True),
    UseCase("progress", "report", progressed),
    UseCase("notice", "report", noticed),
    UseCase("exit", "report", lambda world: ended(world, 3)),
    UseCase("last exit", "report", ended, is_last=True),
    UseCase("canary", "report", ticked(nothing, "report")),
    UseCase("later canary", "report", ticked(running, "report")),
    UseCase("poison", "report", said(running, "reports", poison)),
    UseCase("preempted", "report-audit", said(running, "audit", preempted_vm)),
    UseCase("touched", "report-audit", said(running, "audit", touched)),
)
OTHERS: Final = (
    UseCase("preempted", "alert", alerted, is_last=True),
    UseCase("dead letter", "park", said(running, "dead-letters", dead_letter)),
    UseCase("nothing", TICK, nothing),
    UseCase("a job that waits", TICK, asked_for),
    UseCase("a job that runs", TICK, running),
    UseCase("a loss", TICK, lost),
    UseCase("a slice that was deleted by hand", TICK, vanished),
    UseCase("a silent host", TICK, silent),
    UseCase("an orphan", TICK, orphaned),
    UseCase("a create that failed", TICK, refused_later),
    UseCase("events that were not published", TICK, unpublished),
)
USE_CASES: Final = (*ORDERS, *WORK, *CAPACITY, *REPORTS, *OTHERS)
