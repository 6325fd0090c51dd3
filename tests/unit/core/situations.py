"""Situations at every stage of a job's life, made the way they come to be.

A life is played: rules decide, effects are marked as done at once, hosts obey their mandates.
So every situation here is one that the control plane can get into, and nothing in it is written
by hand that follows from something else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from shared.catalog_data import load_catalog
from shared.core import ordering, slice_orders
from shared.core.causes import Cause
from shared.core.decide import decide
from shared.core.hosts import Host, HostAttempt
from shared.core.letting_go import lost
from shared.core.policy import Policy
from shared.core.schedule import uncreated, unwritten
from shared.core.situation import Situation, World
from shared.core.slices import Bid, BidStage, Generation, Kind, View
from shared.core.spec import JobSpec, parse_spec, resolve, spec_sha256

START = datetime(2030, 1, 1, tzinfo=UTC)
JOB, UID, OTHER_UID = "job000000001", "slice001", "slice002"
WORLD = World("abc123", "gs://tpuctl/outputs", Policy(), load_catalog())
LOST_LINK = "Connection reset by peer"
# Of the node that every look shows (``facts``).
NODE_UID = "n@1"


def spec_of(**fields: object) -> JobSpec:
    """Make the spec of a job on two hosts."""
    base = {"name": "hi", "command": ["train"], "accelerator_type": "v4-16"}
    return resolve(parse_spec({**base, **fields}), WORLD.catalog)


SPEC = spec_of()
SHA256 = spec_sha256(SPEC)

# --- The control plane --------------------------------------------------------------------------


def submitted(kind: Kind = Kind.TEMPORARY, **fields: object) -> Situation:
    """Submit a job on a slice of its own; nothing was decided yet."""
    spec = spec_of(**fields)
    slice_ = ordering.new_slice("hi-1", UID, "ada", spec, WORLD, START)
    slice_ = replace(slice_, kind=kind, job=JOB)
    job = ordering.new_job(JOB, 1, "ada", spec, slice_, START)
    return Situation(slice_, job, (), (), START, WORLD, spec)


def later(now: Situation, seconds: float = 1.0) -> Situation:
    """Let time pass; what was told of the past is forgotten."""
    return replace(now, now=now.later(seconds), notes=(), ledger=())


def settled(now: Situation) -> Situation:
    """Decide and do what is open, until there is nothing to do: mandates and creates."""
    now = decide(now)
    while unwritten(now) or uncreated(now):
        for generation in unwritten(now):
            order = generation.mandate
            order = replace(order, written=order.sequence, rung=order.sequence)
            now = now.with_generation(replace(generation, mandate=order))
        for generation, bid in uncreated(now):
            changes = {"stage": BidStage.PRESENT, "requested_at": now.now, "operation": "o"}
            now = now.with_bid(generation, replace(bid, **changes))  # type: ignore[arg-type]
        now = decide(later(now))
    return later(now)


def current(now: Situation) -> Generation:
    """Return the generation that serves, or will."""
    generation = now.slice.current
    assert generation is not None, "the scene has a current generation"
    return generation


def newest(now: Situation) -> Generation:
    """Return the newest generation, condemned or not."""
    return now.slice.generations[-1]


def bid_of(now: Situation, *, first: bool = False) -> Bid:
    """Return the newest bid of the newest generation, or its first."""
    return newest(now).bids[0 if first else -1]


def with_bid(now: Situation, **changes: object) -> Situation:
    """Change the newest bid."""
    return now.with_bid(newest(now), replace(bid_of(now), **changes))  # type: ignore[arg-type]


def granted(now: Situation) -> Situation:
    """Let the cloud grant the newest bid."""
    return with_bid(now, verdict=View.READY, ready_at=now.now, observed_at=now.now)


def losing(now: Situation, cause: Cause = Cause.PREEMPTED) -> Situation:
    """Let the newest bid be lost."""
    return now.with_bid(newest(now), lost(bid_of(now), cause, "seen by a test"))


# --- Hosts --------------------------------------------------------------------------------------


def host_of(now: Situation, index: int = 0, **changes: object) -> Host:
    """Make a host of the newest bid that has just booted."""
    generation, bid = newest(now), bid_of(now)
    host = Host(
        slice=now.slice.name,
        slice_uid=now.slice.uid,
        generation=generation.number,
        bid=bid.id,
        node=bid.name,
        host=index,
        hosts=bid.hosts,
        hostname=f"w-{index}",
        boot=f"boot-{generation.number}-{bid.id}-{index}",
        sequence=1,
        at=now.now,
        seen_sequence=0,
        phase="booted",
        alive=False,
        received_at=now.now,
    )
    return replace(host, **changes)  # type: ignore[arg-type]


def heard(now: Situation, *hosts: Host) -> Situation:
    """Take in snapshots: each replaces the last one of its host."""
    kept = {(host.slice_uid, host.key): host for host in (*now.hosts, *hosts)}
    return replace(now, hosts=tuple(kept.values()))


def speaking(now: Situation, index: int = 0, **changes: object) -> Situation:
    """Let a host of the newest generation's serving bid say something new."""
    hosts = now.hosts_of(newest(now), newest(now).claimed or bid_of(now).id)
    old = next(host for host in hosts if host.host == index)
    spoken = {"sequence": old.sequence + 1, "received_at": now.now, **changes}
    return heard(now, replace(old, **spoken))  # type: ignore[arg-type]


def booted(now: Situation) -> Situation:
    """Let all hosts of the newest bid boot."""
    return heard(now, *(host_of(now, index) for index in range(bid_of(now).hosts)))


def obeyed(now: Situation, number: int | None = None) -> Situation:
    """Let all hosts of a generation (the newest, if none is named) do what their mandate says."""
    generation = now.generation(number) if number else newest(now)
    assert generation is not None, "the scene keeps that generation"
    hosts = now.hosts_of(generation, generation.claimed or bid_of(now).id)
    return heard(now, *(_obedient(now, generation, host) for host in hosts))


def _obedient(now: Situation, generation: Generation, host: Host) -> Host:
    order = generation.mandate
    changes: dict[str, object] = {
        "seen_sequence": order.sequence,
        "sequence": host.sequence + 1,
        "received_at": now.now,
    }
    if order.action == "start":
        attempt = HostAttempt(order.job, order.attempt, started_at=now.now)
        changes |= {"attempt": attempt, "alive": True, "phase": "running"}
    else:
        changes |= {"alive": False, "attempt": _told(now, host.attempt)}
        changes["phase"] = {"idle": "idle", "end": "ended"}.get(order.action, "prepared")
    if order.action == "prepare":
        changes["prepared"] = order.spec_sha256
    return replace(host, **changes)  # type: ignore[arg-type]


def _told(now: Situation, attempt: HostAttempt) -> HostAttempt:
    if attempt.number < 0 or attempt.ended:
        return replace(attempt, flushed=attempt.number >= 0)
    ending = {"told": True, "killed_by": "mandate", "signal": 15, "ended_at": now.now}
    return replace(attempt, flushed=True, **ending)  # type: ignore[arg-type]


def ended(now: Situation, index: int, **how: object) -> Situation:
    """Let the command of one host end, of its own accord unless said otherwise."""
    ending = {"started_at": now.now, "ended_at": now.now, **how}
    attempt = HostAttempt(JOB, now.served.attempt, **ending)  # type: ignore[arg-type]
    return speaking(now, index, attempt=attempt, alive=False, phase="idle")


def all_ended(now: Situation, **how: object) -> Situation:
    """Let the commands of all hosts end alike."""
    for index in range(bid_of(now).hosts):
        now = ended(now, index, **how)
    return now


# --- Scenes -------------------------------------------------------------------------------------


def claimed(now: Situation) -> Situation:
    """Lead a job that waits for its slice to the stage ``preparing``."""
    return settled(booted(granted(settled(now))))


def started(now: Situation) -> Situation:
    """Lead a job that is being prepared to its next attempt; all hosts run it."""
    return settled(obeyed(settled(obeyed(now))))


@cache
def running(kind: Kind = Kind.TEMPORARY) -> Situation:
    """Play until attempt 2 runs on generation 2: older and newer numbers exist around it."""
    first = started(claimed(submitted(kind)))
    second = started(settled(all_ended(first, exit_code=1, evidence=LOST_LINK)))
    return started(claimed(obeyed(settled(losing(second)), 1)))


def recovering() -> Situation:
    """Lose generation 2; its hosts did not acknowledge the end."""
    return settled(losing(running()))


def stopping() -> Situation:
    """Order the running job to stop; its hosts did not acknowledge."""
    return settled(ordering.stop(running(), kill=False))


def cancelled() -> Situation:
    """Stop the running job, and let its hosts acknowledge."""
    return settled(obeyed(stopping()))


def failed(kind: Kind = Kind.TEMPORARY) -> Situation:
    """Let the program fail without a new checkpoint: a temporary slice is held."""
    return settled(obeyed(settled(all_ended(running(kind), exit_code=1, evidence="bug"))))


def again(now: Situation) -> Situation:
    """Order the job to be resumed on the same slice; nothing was decided yet."""
    taken = ordering.take_slice(now.slice, now.spec, JOB)
    order = ordering.Again(now.served.attempt, None, None, presume_dead=False, is_rerun=False)
    return ordering.again(replace(now, slice=taken), order)


def elsewhere() -> Situation:
    """Resume a stopped job on another slice before its last attempt is known to be dead."""
    stopped = settled(all_ended(running(), exit_code=1, evidence="bug"))
    slice_ = ordering.new_slice("hi-2", OTHER_UID, "ada", SPEC, WORLD, stopped.now)
    job = replace(stopped.served, slice=slice_.name, slice_uid=slice_.uid)
    slice_ = replace(slice_, job=JOB)
    return settled(again(replace(stopped, slice=slice_, job=job, hosts=())))


def race() -> Situation:
    """Ask for the next generation twice at once."""
    now = recovering()
    bid = bid_of(now)
    other = replace(bid, id="1", name=bid.name[:-1] + "1")
    return settled(now.with_generation(replace(newest(now), bids=(bid, other))))


def undead() -> Situation:
    """Prepare on generation 3 while the writer of generation 2 is not known to be dead."""
    return settled(obeyed(claimed(recovering())))


def restarting(now: Situation) -> Situation:
    """Order all hosts to reboot; none of them has heard it."""
    return settled(slice_orders.restart(now, by="its owner"))


def adopted(now: Situation) -> Situation:
    """Let the slice be one that others made."""
    now = now.with_slice(kind=Kind.ADOPTED)
    return with_bid(now, foreign=True, node_uid=NODE_UID)


SCENES: Mapping[str, Callable[[], Situation]] = {
    "queued": submitted,
    "queued again on a held slice": lambda: again(failed()),
    "provisioning": lambda: settled(submitted()),
    "provisioning elsewhere": elsewhere,
    "preparing": lambda: claimed(obeyed(recovering(), 2)),
    "preparing again": lambda: settled(all_ended(running(), exit_code=1, evidence=LOST_LINK)),
    "preparing, writer not dead": undead,
    "preparing elsewhere, writer not dead": lambda: settled(obeyed(claimed(elsewhere()))),
    "running": running,
    "running on a named slice": lambda: running(Kind.NAMED),
    "running, ending": lambda: settled(ended(running(), 0, exit_code=1, evidence="bug")),
    "running, finishing": lambda: settled(ended(running(), 0, exit_code=0)),
    "recovering": recovering,
    "recovering, a race": race,
    "stopping": stopping,
    "stopping, lost": lambda: settled(losing(stopping())),
    "succeeded": lambda: settled(all_ended(running(), exit_code=0)),
    "succeeded on a named slice": lambda: settled(all_ended(running(Kind.NAMED), exit_code=0)),
    "failed, held": failed,
    "failed on a named slice": lambda: failed(Kind.NAMED),
    "cancelled": cancelled,
    "running, restarting": lambda: restarting(running()),
    "preparing, restarting": lambda: restarting(claimed(obeyed(recovering(), 2))),
    "running on an adopted slice": lambda: adopted(running(Kind.NAMED)),
}
