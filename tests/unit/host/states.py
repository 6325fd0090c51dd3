"""Ready-made configs, mandates and states for tests of the agent."""

from __future__ import annotations

from dataclasses import replace

from shared.host import agent

BOOT = "boot-1"
SPEC = agent.Content("specs/a.json", "a" * 64)
OTHER_SPEC = agent.Content("specs/b.json", "b" * 64)
RUN = agent.Run(1, 0, "/checkpoints", "/output", 0, 1)
CONFIG = agent.Config(
    project="sandbox",
    bucket="bucket",
    mandate="control/mandates/uid/g1.json",
    topic="reports",
    slice="s",
    slice_uid="uid",
    generation=1,
    bid="b0",
    node="node",
    host=0,
    hosts=2,
    hostname="t1v-n-0-w-0",
    boot=BOOT,
)


def mandate(sequence: int, action: str, **changes: object) -> agent.Mandate:
    """Make a mandate for the slice of ``CONFIG``; a start names its boot."""
    base = agent.Mandate("uid", 1, sequence, action, grace_s=10.0, bid_tokens={"b0": "t"})
    if action in ("prepare", "start"):
        base = replace(base, job="j", spec=SPEC)
    if action == "start":
        boots = {"0": BOOT, "1": "boot-of-1"}
        base = replace(base, attempt=0, bid="b0", boots=boots, run=RUN, lease_s=100.0)
    return replace(base, **changes)  # type: ignore[arg-type]


def read(what: agent.Mandate, now: float, *, age_s: float = 0.0) -> agent.MandateRead:
    """Make the event of a read that was sent some seconds ago."""
    return agent.MandateRead(what, now - age_s, now)


def prepared(now: float, spec: agent.Content = SPEC) -> agent.PreparationEnded:
    """Make the event of a preparation that succeeded; the spec's grace is 5 s."""
    return agent.PreparationEnded(spec.sha256, 5.0, None, now)


def exited(now: float, exit_code: int = 0, number: int = 0) -> agent.CommandExited:
    """Make the event of a command that ended by itself."""
    return agent.CommandExited(("j", number), exit_code, None, "bye", now, "at", now)


def gone(now: float, number: int = 0) -> agent.WorkloadGone:
    """Make the event that nothing of an attempt lives any more."""
    return agent.WorkloadGone(("j", number), "bye", now)


def after(*events: agent.Event, config: agent.Config = CONFIG) -> agent.State:
    """Apply events to a new boot."""
    state = agent.initial(config, None, 0.0)
    for event in events:
        state, _ = agent.step(state, event)
    return state


def running(now: float = 2.0) -> agent.State:
    """Make the state of a host that runs attempt 0, started by mandate 2."""
    return after(read(mandate(1, "prepare"), 0.0), prepared(1.0), read(mandate(2, "start"), now))


def names(actions: list[agent.Action]) -> list[str]:
    """Name actions, without those that every change brings."""
    quiet = (agent.Persist, agent.Report)
    return [type(action).__name__ for action in actions if not isinstance(action, quiet)]
