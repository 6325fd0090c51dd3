"""Users' orders, as changes of what is known: admit, stop, resume, rerun, release.

Each refusal is one sentence for the person who asked; each acceptance a new situation, from
which the rules go on (docs/protocol.md §7).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from shared.core.causes import Cause
from shared.core.identity import Bounds
from shared.core.model import Job, Revision, Spent
from shared.core.reacting import close_attempt, from_scratch, resumed
from shared.core.situation import Situation, World
from shared.core.slices import Kind, Slice
from shared.core.spec import JobSpec, spec_sha256, to_document
from shared.core.stages import Event, Stage, can
from shared.errors import ControlPlaneError

UNBOUNDED: Final = Bounds()
# Who changes a job oftener than this reads the newest ones.
REVISIONS_MAX: Final = 50


class Refused(ControlPlaneError):  # noqa: N818 - an answer to a user, not a failure of ours
    """An order cannot be carried out, for a reason that its owner can read."""


@dataclass(frozen=True, slots=True)
class Again:
    """A user's resume or rerun of a job that is over, or on its way there."""

    seen_attempt: int
    spec: JobSpec | None
    from_step: int | None
    presume_dead: bool
    is_rerun: bool
    by: str = "its owner"


def new_job(job: str, number: int, owner: str, spec: JobSpec, slice_: Slice, now: datetime) -> Job:
    """Make a job that waits for a slice."""
    return Job(
        id=job,
        number=number,
        owner=owner,
        name=spec.name,
        spec=to_document(spec),
        spec_sha256=spec_sha256(spec),
        created_at=now,
        slice=slice_.name,
        slice_uid=slice_.uid,
        stage_since=now,
        accelerator_type=slice_.accelerator_type,
        folder=slice_.folder,
    )


def new_slice(name: str, uid: str, owner: str, spec: JobSpec, world: World, now: datetime) -> Slice:
    """Make a temporary slice as a spec asks for it.  Raises Refused."""
    if spec.accelerator_type is None or spec.runtime_version is None:
        raise Refused("the spec names no accelerator type: say --type, or --on SLICE")
    accelerator = world.catalog.accelerator(spec.accelerator_type)
    zones = spec.zones or world.catalog.generation(spec.accelerator_type).zones
    return Slice(
        name=name,
        uid=uid,
        owner=owner,
        kind=Kind.TEMPORARY,
        accelerator_type=accelerator.accelerator_type,
        zones=tuple(zones),
        tier=str(spec.tier),
        runtime_version=spec.runtime_version,
        hosts=accelerator.hosts,
        created_at=now,
    )


def take_slice(slice_: Slice, spec: JobSpec, job: str, bounds: Bounds = UNBOUNDED) -> Slice:
    """Put a job on a slice that is there and is kept in the job's bounds.  Raises Refused."""
    if not (slice_.live and slice_.wanted):
        raise Refused(f"slice {slice_.name} is being deleted")
    if slice_.worker_account != bounds.worker_account:
        raise Refused(
            f"slice {slice_.name} runs as {_account(slice_.worker_account)}, the job would as"
            f" {_account(bounds.worker_account)}: teams share no slices"
        )
    if slice_.folder != bounds.folder:
        raise Refused(
            f"slice {slice_.name} reads and writes in {_folder(slice_.folder)}, the job would in"
            f" {_folder(bounds.folder)}: teams share no slices"
        )
    if slice_.job not in {"", job}:
        raise Refused(f"slice {slice_.name} is busy with another job")
    if spec.accelerator_type not in {None, slice_.accelerator_type}:
        raise Refused(
            f"slice {slice_.name} is a {slice_.accelerator_type}, not a {spec.accelerator_type}"
        )
    return replace(slice_, job=job, held_until=None)


def _account(name: str) -> str:
    return name or "the project's default account"


def _folder(name: str) -> str:
    return name or "no team's folder"


def stop(now: Situation, *, kill: bool, by: str = "its owner") -> Situation:
    """Order a job to stop.  Raises Refused."""
    job = now.served
    if job.is_over:
        raise Refused(f"job {job.number} has ended already: {job.stage}{_held(now.slice)}")
    if job.stage is Stage.STOPPING:
        return now.with_job(kill=kill or job.kill)
    text = f"killed by {by}" if kill else f"stopped by {by}"
    return now.advance(Event.STOP_ORDERED, text, kill=kill, reason=text)


def _held(slice_: Slice) -> str:
    is_kept = slice_.live and slice_.held_until is not None
    return f"; its slice is held: tpuctl slice rm {slice_.name}" if is_kept else ""


def check_again(job: Job, order: Again) -> None:
    """Check that a job may be resumed or rerun as its owner saw it.  Raises Refused."""
    if not can(job.stage, Event.RESUME_ORDERED):
        raise Refused(f"job {job.number} has not ended: {job.stage}; tpuctl stop {job.number}")
    if job.attempt != order.seen_attempt:
        raise Refused(
            f"job {job.number} is at attempt {job.attempt} by now, not {order.seen_attempt}"
        )


def move(job: Job, slice_: Slice, spec: JobSpec, order: Again) -> Job:
    """Put a job that goes on onto its slice.  Raises Refused when it could not read its own.

    Whoever joins or leaves a team leaves checkpoints behind where the new slice has no rights.
    """
    is_resumed = job.attempt >= 0 and not order.is_rerun
    if slice_.folder != job.folder and is_resumed and not spec.checkpoint_dir:
        raise Refused(
            f"job {job.number} kept its checkpoints in {_folder(job.folder)} and would go on in"
            f" {_folder(slice_.folder)}, without them: rerun it, or name a copy as checkpoint_dir"
        )
    return replace(
        job,
        slice=slice_.name,
        slice_uid=slice_.uid,
        accelerator_type=slice_.accelerator_type,
        folder=slice_.folder,
    )


def again(now: Situation, order: Again) -> Situation:
    """Take a job that is over back to the queue, on the slice of this situation."""
    job = now.served
    writer = job.writer
    if writer is not None and not writer.dead and order.presume_dead:
        writer = replace(writer, dead="presumed")
        now = now.note("WriterDead", f"attempt {writer.attempt} is presumed dead by the owner")
    now = now.with_job(writer=writer)
    if order.spec is not None:
        now = _revised(now, order.spec, order.by)
    if order.is_rerun:
        now = from_scratch(now)
    else:
        now = resumed(now).with_job(steps=_up_to(order.from_step, job.steps))
    # A job that is still being stopped goes on to prepare; it starts when its writer is dead.
    now = close_attempt(now, Cause.DRAINED)
    word = "rerun" if order.is_rerun else "resumed"
    return now.advance(
        Event.RESUME_ORDERED,
        f"{word} by {order.by}",
        from_step=order.from_step,
        failed_restore=None,
        kill=False,
        cause=None,
        exit_code=None,
        reason="",
        evidence="",
        ended_at=None,
        spent=Spent(),
        again_at=now.now,
    )


def _revised(now: Situation, spec: JobSpec, by: str) -> Situation:
    """Give a job another spec, and remember what of it is new."""
    job, document, sha256 = now.served, to_document(spec), spec_sha256(spec)
    revisions = job.revisions
    if sha256 != job.spec_sha256:
        changed = tuple(key for key in document if document[key] != job.spec.get(key))
        number = revisions[-1].number + 1 if revisions else 1
        newest = Revision(number, sha256, now.now, by, changed)
        revisions = (*revisions, newest)[-REVISIONS_MAX:]
        now = now.note("JobRevised", f"revision {number}: {', '.join(changed)}")
    now = now.with_job(spec=document, spec_sha256=sha256, revisions=revisions)
    return replace(now, job_spec=spec)


def _up_to(step: int | None, steps: tuple[int, ...]) -> tuple[int, ...]:
    """Leave out what comes after a chosen step: it is given up."""
    return steps if step is None else tuple(each for each in steps if each <= step)


def release(now: Situation) -> Slice:
    """Let a slice go; what is left of a job that is over is told to end.  Raises Refused."""
    slice_ = now.slice
    if not slice_.live:
        raise Refused(f"slice {slice_.name} is gone already")
    if slice_.job and not (now.is_serving and now.served.is_over):
        number = f" {now.served.number}" if now.is_serving else ""
        first = f"tpuctl stop{number}" if number else "stop it"
        raise Refused(f"slice {slice_.name} is busy with job{number}: {first} first")
    return replace(slice_, wanted=False, held_until=None)
