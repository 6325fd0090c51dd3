"""What a job waits for, and what comes next: one answer a stage, from the documents alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cli import tables
from cli.why_view import WhyView
from shared.core.causes import Cause
from shared.core.model import Writer
from shared.core.slices import Bid, BidStage, View
from shared.core.stages import Stage

# What a cause means to somebody who reads it for the first time.
MEANINGS: Final[Mapping[Cause, str]] = {
    Cause.SUCCEEDED: "it exited with 0 on every host",
    Cause.PREEMPTED: "Google took the slice back",
    Cause.MAINTENANCE: "Google serviced the machine",
    Cause.DELETED: "the slice was deleted, by order or by hand",
    Cause.HOST_LOST: "a host was gone, or spoke no more",
    Cause.BAD_NODE: "the slice came up without its chips, or not at all",
    Cause.REBOOTED: "a host was restarted under the program, by order or by itself",
    Cause.OOM: "the program ran out of memory",
    Cause.DEVICE_LOCKED: "another process held the TPU",
    Cause.SETUP: "the setup command failed",
    Cause.ERROR: "the program exited with an error",
    Cause.HANG: "the program stopped making steps",
    Cause.CUT_OFF: "a host could not read its orders for so long that it had to stop",
    Cause.TRANSPORT: "hosts lost the connection to each other",
    Cause.DRAINED: "it was told to go and saved",
}


@dataclass(frozen=True, slots=True)
class Wait:
    """What a job waits for, and what happens next; nothing of it may be empty."""

    what: str
    next: str


def wait_of(found: WhyView) -> Wait:
    """Say what a job waits for."""
    return _ANSWERS[found.view.job.stage](found)


# --- Capacity -----------------------------------------------------------------------------------


def _capacity(found: WhyView) -> Wait:
    """Say what keeps the slice from being there."""
    slice_, bid = found.view.slice, found.bid
    if slice_ is None:
        return Wait("its slice, of which nothing is known", "tpuctl poke looks at once")
    if found.current is None:
        return Wait("its last slice, which is still being deleted", "then a new one is asked for")
    if bid is None:
        return Wait(f"its next request for {_kind(found)}", _again(found, slice_.next_bid_at))
    if bid.unknown_since is not None:
        since = tables.age(bid.unknown_since, found.view.now)
        return Wait(
            f"a look at {bid.name} in {bid.zone}, which nobody could have for {since}",
            "every minute looks again; nothing is taken for lost without proof",
        )
    if bid.stage is BidStage.INTENDED:
        return _unasked(found, bid)
    return _asked(found, bid)


def _unasked(found: WhyView, bid: Bid) -> Wait:
    what = f"its request for {_kind(found)} in {bid.zone} to be made"
    now = found.view.now
    if found.paused:
        return Wait(f"{what}: {found.paused}", "tpuctl unpause lets everything go on")
    stop = found.gate.stopped
    if stop is not None and now < stop.until:
        return Wait(f"{what}: Google says {stop.why}", _again(found, stop.until))
    if bid.in_line:
        return Wait(
            f"{what}: it stands in line, only so many requests are made in a minute",
            "the first in line go every minute, by priority and age",
        )
    if bid.detail:
        tries = f" (tried {_count(bid.tries, 'time')})" if bid.tries else ""
        return Wait(f"{what}: {bid.detail}{tries}", _again(found, bid.not_before))
    return Wait(what, _again(found, bid.not_before))


def _asked(found: WhyView, bid: Bid) -> Wait:
    state = (bid.state or str(bid.stage)).lower()
    if bid.verdict is View.READY:
        spoke = len(found.bids_hosts)
        until = (bid.ready_at or found.view.now) + timedelta(seconds=found.policy.boot_s)
        return Wait(
            f"the hosts of {bid.name} to boot: {spoke} of {bid.hosts} have spoken",
            f"{_when(found, until)} it counts as a bad node, and another is asked for",
        )
    is_news = bid.detail.lower().replace(" ", "_") not in {"", state}
    detail = f", {bid.detail}" if is_news else ""
    return Wait(
        f"{_kind(found)} in {bid.zone}: Google has the request ({state}{detail})",
        "Google gives no date; its answer is looked at every minute",
    )


def _kind(found: WhyView) -> str:
    slice_ = found.view.slice
    return f"{slice_.tier} {slice_.accelerator_type}" if slice_ else "a slice"


# --- On a slice ---------------------------------------------------------------------------------


def _preparing(found: WhyView) -> Wait:
    job, hosts = found.view.job, found.bids_hosts
    bid = found.bid
    count = bid.hosts if bid else 0
    ready = [host for host in hosts if host.prepared == job.spec_sha256 and not host.alive]
    if bid is not None and len(ready) >= count and not job.writer_is_dead:
        return _writer(found, f"all {count} hosts are prepared; ")
    limit_s = found.policy.prepare_s + _number(job.spec.get("setup_timeout_s"))
    until = (job.prepare_since or found.view.now) + timedelta(seconds=limit_s)
    problems = sorted({tables.printable(host.problem) for host in hosts if host.problem})
    told = f"; {'; '.join(problems)}" if problems else ""
    return Wait(
        f"its hosts to fetch the code and run the setup: {len(ready)} of {count} are ready{told}",
        f"it starts on all hosts at once; {_when(found, until)} the try counts as failed",
    )


def _running(found: WhyView) -> Wait:
    job = found.view.job
    if job.ending is not None:
        return Wait(
            f"attempt {job.attempt} to end: {job.ending.why}",
            "when all hosts have ended, its rule says what follows",
        )
    if job.finishing_since is not None:
        limit_s = _number(job.spec.get("finish_grace_s"))
        until = job.finishing_since + timedelta(seconds=limit_s)
        return Wait(
            "the other hosts to exit: one has finished",
            f"{_when(found, until)} they are stopped",
        )
    saved = f", saved up to step {job.checkpoint.step}" if job.checkpoint else ""
    step = f"step {job.progress.step}" if job.progress else "no step seen yet"
    return Wait(
        f"nothing: attempt {job.attempt} runs in {job.zone} ({step}{saved})",
        "it runs until its program exits; a lost slice is replaced as its rule says",
    )


def _stopping(found: WhyView) -> Wait:
    return _writer(found, "")


def _writer(found: WhyView, before: str) -> Wait:
    """Say what proof is missing that the last attempt writes no more."""
    writer = found.view.job.writer
    if writer is None:
        return Wait(f"{before}the last look at its slice", "it is over within seconds")
    return Wait(
        f"{before}proof that attempt {writer.attempt} writes no more",
        f"its hosts say so, or their machines are gone{_lease(found, writer)}",
    )


def _lease(found: WhyView, writer: Writer) -> str:
    if writer.end_written_at is None:
        return ""
    lease_s = writer.lease_s + found.policy.lease_margin_s
    return f", or its lease is over {_when(found, writer.end_written_at, lease_s)}"


# --- Over ---------------------------------------------------------------------------------------


def _over(found: WhyView) -> Wait:
    job = found.view.job
    told = {
        Stage.SUCCEEDED: "nothing: it has succeeded",
        Stage.FAILED: "you: it has failed, and is left to its owner",
        Stage.CANCELLED: "nothing: it was stopped",
    }
    return Wait(told[job.stage], _slice_after(found))


def _slice_after(found: WhyView) -> str:
    """Say what becomes of the slice."""
    slice_ = found.view.slice
    if slice_ is None or not slice_.live:
        return "nothing by itself; its slice is gone and costs nothing"
    if slice_.job not in {"", found.view.job.id}:
        return f"nothing by itself; slice {slice_.name} works for another job"
    if slice_.held_until is not None:
        when = _when(found, slice_.held_until)
        return f"slice {slice_.name} is held for the fix; {when} it is given back"
    if slice_.wanted:
        return f"nothing by itself; slice {slice_.name} stays until tpuctl slice rm {slice_.name}"
    return f"slice {slice_.name} is being deleted"


# --- Times --------------------------------------------------------------------------------------


def _again(found: WhyView, at: datetime | None) -> str:
    if at is None or at <= found.view.now:
        return "it is asked at the next look, within a minute"
    return f"it is asked again {_when(found, at)}"


def _when(found: WhyView, at: datetime, after_s: float = 0.0) -> str:
    """Say when something will be, in the reader's time and from now."""
    at += timedelta(seconds=after_s)
    now = found.view.now
    if at <= now:
        return "any moment now"
    return f"at {tables.clock(at, now)} (in {tables.duration(at - now)})"


def _number(written: object) -> float:
    return float(written) if isinstance(written, int | float) else 0.0


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


_ANSWERS: Final[Mapping[Stage, Callable[[WhyView], Wait]]] = {
    Stage.QUEUED: _capacity,
    Stage.PROVISIONING: _capacity,
    Stage.RECOVERING: _capacity,
    Stage.PREPARING: _preparing,
    Stage.RUNNING: _running,
    Stage.STOPPING: _stopping,
    Stage.SUCCEEDED: _over,
    Stage.FAILED: _over,
    Stage.CANCELLED: _over,
}
