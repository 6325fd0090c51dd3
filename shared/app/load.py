"""Read everything that a decision about one slice needs, and remember what was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shared.app.context import App
from shared.app.silence import HOSTS_MAX, can_judge
from shared.app.stored import host_of
from shared.core.codec import from_fields
from shared.core.hosts import Host
from shared.core.model import Attempt, Job
from shared.core.situation import Situation, World
from shared.core.slices import Slice
from shared.core.spec import JobSpec, from_document
from shared.core.unheard import unheard
from shared.ports import Query, Where


@dataclass(frozen=True, slots=True)
class Loaded:
    """A situation with the documents it was read from; ``tokens`` is by path."""

    situation: Situation
    tokens: Mapping[str, str]


def slice_path(name: str) -> str:
    """Name the document of a slice."""
    return f"slices/{name}"


def job_path(job: str) -> str:
    """Name the document of a job."""
    return f"jobs/{job}"


def attempt_path(job: str, number: int) -> str:
    """Name the document of an attempt."""
    return f"jobs/{job}/attempts/{number}"


def load(app: App, name: str) -> Loaded | None:
    """Read a slice, its job, the newest attempt and the hosts; None for an unknown slice."""
    document = app.store.get(slice_path(name))
    if document is None:
        return None
    slice_ = from_fields(Slice, document.fields)
    tokens = {document.path: document.token}
    job, attempts = load_job(app, slice_.job, tokens) if slice_.job else (None, ())
    hosts, now = _hosts(app, slice_), document.read_at
    situation = Situation(
        slice=slice_,
        job=job,
        attempts=attempts,
        hosts=hosts,
        now=now,
        world=world(app),
        job_spec=parsed(job) if job else None,
    )
    is_silent = bool(unheard(situation))
    can = can_judge(app, now, is_somebody_silent=is_silent)
    situation = replace(situation, can_judge_silence=can, has_listened=not is_silent)
    return Loaded(situation, tokens)


def load_job(
    app: App, job_id: str, tokens: dict[str, str]
) -> tuple[Job | None, tuple[Attempt, ...]]:
    """Read a job and its newest attempt, adding their tokens."""
    document = app.store.get(job_path(job_id))
    if document is None:
        return None, ()
    tokens[document.path] = document.token
    job = from_fields(Job, document.fields)
    attempt = app.store.get(attempt_path(job.id, job.attempt)) if job.attempt >= 0 else None
    if attempt is None:
        return job, ()
    tokens[attempt.path] = attempt.token
    return job, (from_fields(Attempt, attempt.fields),)


def world(app: App) -> World:
    """Tell the core what this installation is."""
    return World(app.installation, app.outputs_root, app.policy, app.catalog, app.bucket)


def parsed(job: Job) -> JobSpec:
    """Parse a job's spec."""
    return from_document(job.spec)


def _hosts(app: App, slice_: Slice) -> tuple[Host, ...]:
    if not slice_.generations:
        return ()
    oldest = slice_.generations[0].number
    query = Query(
        f"slices/{slice_.name}/hosts", (Where("generation", ">=", oldest),), limit=HOSTS_MAX
    )
    hosts = (host_of(document) for document in app.store.query(query))
    return tuple(host for host in hosts if host.slice_uid == slice_.uid)
