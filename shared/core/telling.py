"""What the agents of each generation shall do now: derived from the documents, never stored twice.

A mandate that differs from the last one gets the next sequence. The one that takes an attempt's
right to run away is remembered as the end of the writer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter

from shared.core.model import NO_ATTEMPT, Writer
from shared.core.names import run_folder, team_outputs
from shared.core.situation import Situation
from shared.core.slices import Generation, Mandate
from shared.core.stages import Stage

# What makes an order another one: not its wording, nor how far the telling has come.
_says = attrgetter(
    "action",
    "job",
    "attempt",
    "spec_sha256",
    "bid",
    "bids",
    "boots",
    "run",
    "lease_s",
    "tries",
    "restart",
)
# What agents are doing when only the bell makes them look soon.
_LOOKING_RARELY = frozenset({"start", "idle"})
_PREPARING = (Stage.QUEUED, Stage.PROVISIONING, Stage.PREPARING, Stage.RECOVERING)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What a generation's agents shall be told."""

    action: str
    reason: str
    grace_s: float
    job: str = ""
    attempt: int = NO_ATTEMPT
    spec_sha256: str = ""
    bid: str = ""
    boots: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, object] = field(default_factory=dict)
    lease_s: float = 0.0
    tries: int = 0


def tell(now: Situation) -> Situation:
    """Give every generation whose orders changed its next mandate."""
    for generation in now.slice.generations:
        order = generation.mandate
        wish = _wish(now, generation)
        following = _mandate(now, generation, wish)
        if _says(following) == _says(order) and not _is_hastened(now, order, following):
            continue
        now = now.with_generation(replace(generation, mandate=following))
        now = _end_writer(now, generation, following)
    return now


def _is_hastened(now: Situation, order: Mandate, following: Mandate) -> bool:
    """A user who says kill does not wait for the grace that was given before."""
    return now.job is not None and now.job.kill and following.grace_s < order.grace_s


def _mandate(now: Situation, generation: Generation, wish: _Wish) -> Mandate:
    order = generation.mandate
    return Mandate(
        sequence=order.sequence + 1,
        action=wish.action,
        reason=wish.reason,
        ordered_at=now.now,
        written=order.written,
        rung=order.rung,
        rings=_is_looking_rarely(order),
        job=wish.job,
        attempt=wish.attempt,
        spec_sha256=wish.spec_sha256,
        bid=wish.bid,
        bids=tuple(bid.id for bid in generation.bids),
        boots=wish.boots,
        run=wish.run,
        lease_s=wish.lease_s,
        grace_s=wish.grace_s,
        tries=wish.tries,
        restart={} if generation.is_condemned else generation.restart,
    )


def _is_looking_rarely(order: Mandate) -> bool:
    """Agents under an order look rarely; those that have none yet look all the time."""
    is_unheard = order.rings and order.rung < order.sequence
    return is_unheard or (order.sequence > 0 and order.action in _LOOKING_RARELY)


def _end_writer(now: Situation, generation: Generation, following: Mandate) -> Situation:
    """Whatever its generation is told but its start ends a writer: before it began, too."""
    writer = now.writer
    if writer is None or writer.end_sequence is not None:
        return now
    is_its = writer.generation == generation.number
    if is_its and (following.action, following.attempt) != ("start", writer.attempt):
        return now.with_writer(end_sequence=following.sequence)
    return now


def _wish(now: Situation, generation: Generation) -> _Wish:
    current = now.slice.current
    if current is None or generation.number != current.number:
        return _Wish("end", "this generation is over", _grace_s(now))
    if not now.is_serving:
        return _Wish("idle", "nothing to do", _grace_s(now))
    job, writer = now.served, now.served.writer
    if now.stands_at(Stage.RUNNING) and job.ending is not None:
        grace_s = _grace_s(now) if job.ending.is_ordered else now.policy.gang_grace_s
        return _Wish("idle", job.ending.why, grace_s)
    if now.stands_at(Stage.RUNNING) and writer is not None:
        return _start(now, writer)
    if now.stands_at(*_PREPARING):
        return _Wish(
            "prepare",
            f"job {job.number} {job.stage}",
            now.spec.grace_s,
            job=job.id,
            spec_sha256=job.spec_sha256,
            tries=job.spent.setups,
        )
    return _Wish("idle", f"job {job.number} {job.stage}", _grace_s(now))


def _start(now: Situation, writer: Writer) -> _Wish:
    job = now.served
    root = team_outputs(now.world.outputs_root, now.world.bucket, now.slice.folder)
    folder = run_folder(root, job.id, job.run)
    attempt = now.attempt
    assert attempt is not None, "a running job has an attempt"
    run: dict[str, object] = {
        "number": job.number,
        "resumes": attempt.resumes,
        "checkpoint_dir": now.spec.checkpoint_dir or f"{folder}/checkpoints",
        "output_dir": f"{folder}/output",
        "shard": 0,
        "shards": 1,
        "from_step": attempt.from_step,
    }
    return _Wish(
        "start",
        f"job {job.number}, attempt {writer.attempt}",
        now.spec.grace_s,
        job=job.id,
        attempt=writer.attempt,
        spec_sha256=job.spec_sha256,
        bid=writer.bid,
        boots=writer.boots,
        run=run,
        lease_s=writer.lease_s,
    )


def _grace_s(now: Situation) -> float:
    """How long whatever runs may take to save its state."""
    if now.job is None or now.job_spec is None:
        return 0.0
    return 0.0 if now.job.kill else now.job_spec.grace_s
