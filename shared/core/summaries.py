"""One sentence on top of every document, for people who read them in a console."""

from __future__ import annotations

from dataclasses import replace

from shared.core.model import Job
from shared.core.situation import Situation
from shared.core.slices import Kind, Slice
from shared.core.stages import Stage
from shared.core.unknown import unknown_since


def summarize(now: Situation) -> Situation:
    """Say in words how the slice and its job stand."""
    now = replace(now, slice=replace(now.slice, summary=_of_slice(now.slice)))
    if now.is_serving:
        now = now.with_job(summary=_of_job(now))
    return now


def _unseen(slice_: Slice) -> str:
    since = unknown_since(slice_)
    return f"; not seen in the cloud since {since:%Y-%m-%d %H:%M} UTC" if since else ""


def _of_slice(slice_: Slice) -> str:
    current = slice_.current
    if not slice_.live:
        return "gone"
    if current is None:
        return _without_generation(slice_)
    bid = current.claimed_bid
    if bid is None and current.foreign_bid is not None:
        return f"only watched until the installer ran there: tpuctl slice installer {slice_.name}"
    if bid is None:
        asked = next((each for each in current.bids if not each.is_condemned), None)
        if asked is None:
            return "waits before it asks again"
        text = f"asks for {asked.accelerator_type} in {asked.zone}" + _detail(asked.detail)
        return text + _unseen(slice_)
    text = f"{bid.accelerator_type} in {bid.zone}, generation {current.number}"
    held = f", held until {slice_.held_until:%H:%M} UTC" if slice_.held_until is not None else ""
    rebooting = ", its hosts reboot" if current.restart_at is not None else ""
    return text + held + rebooting + _unseen(slice_)


def _without_generation(slice_: Slice) -> str:
    if not slice_.wanted or (slice_.generations and slice_.kind is Kind.TEMPORARY):
        return "being deleted"
    if slice_.generation == 0:
        return "not asked for yet"
    return f"lost; a job on it, or tpuctl slice recreate {slice_.name}, makes it again"


def _of_job(now: Situation) -> str:
    job = now.served
    match job.stage:
        case Stage.QUEUED:
            return "waits for its slice"
        case Stage.PROVISIONING | Stage.RECOVERING:
            return _waiting(now)
        case Stage.PREPARING:
            return _preparing(now) + _unseen(now.slice)
        case Stage.RUNNING:
            return _running(job) + _unseen(now.slice)
        case Stage.STOPPING:
            return "waits until nothing of it can write any more"
        case Stage.SUCCEEDED:
            return f"finished after {_count(job.attempt + 1, 'attempt')}"
        case Stage.FAILED:
            return job.reason or "failed"
        case Stage.CANCELLED:
            return "stopped by its owner"


def _waiting(now: Situation) -> str:
    before = f"{now.served.cause}; " if now.stands_at(Stage.RECOVERING) else ""
    return before + _of_slice(now.slice)


def _preparing(now: Situation) -> str:
    job, current = now.served, now.slice.current
    hosts = now.hosts_of(current, current.claimed) if current else ()
    ready = sum(host.prepared == job.spec_sha256 and not host.alive for host in hosts)
    if current and ready == now.slice.hosts and not job.writer_is_dead:
        return "prepared; waits until its last attempt is known to be dead"
    return f"{ready} of {now.slice.hosts} hosts prepared"


def _running(job: Job) -> str:
    if job.ending is not None:
        return f"ending: {job.ending.why}"
    if job.progress is None:
        return f"attempt {job.attempt} started"
    total = f"/{job.progress.total}" if job.progress.total is not None else ""
    return f"step {job.progress.step}{total}"


def _detail(detail: str) -> str:
    return f" ({detail})" if detail else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
