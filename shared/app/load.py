"""Read everything that a decision about one slice needs, and remember what was read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache

from shared.app.context import App
from shared.core.codec import from_fields
from shared.core.hosts import Host
from shared.core.model import Attempt, Job
from shared.core.situation import Situation, World
from shared.core.slices import Slice
from shared.core.spec import JobSpec, from_document
from shared.ports import Document, Query, Where

# 64 hosts, and the generations that are still being deleted.
HOSTS_MAX = 1000
CANARY = "control/canary"


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
    now = document.read_at
    return Loaded(
        Situation(
            slice=slice_,
            job=job,
            attempts=attempts,
            hosts=_hosts(app, slice_),
            now=now,
            world=world(app),
            job_spec=parsed(job) if job else None,
            canaries_fresh=_are_canaries_fresh(app, now),
        ),
        tokens,
    )


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
    return World(app.installation, app.outputs_root, app.policy, app.catalog)


def parsed(job: Job) -> JobSpec:
    """Parse a job's spec; the same content is parsed once a process."""
    return _parsed(job.spec_sha256, _Unhashed(job.spec))


def host_of(document: Document) -> Host:
    """Read a host; when it was heard is the Store's own time."""
    host = from_fields(Host, document.fields)
    return replace(host, received_at=document.updated_at)


def _hosts(app: App, slice_: Slice) -> tuple[Host, ...]:
    if not slice_.generations:
        return ()
    oldest = slice_.generations[0].number
    query = Query(
        f"slices/{slice_.name}/hosts", (Where("generation", ">=", oldest),), limit=HOSTS_MAX
    )
    hosts = (host_of(document) for document in app.store.query(query))
    return tuple(host for host in hosts if host.slice_uid == slice_.uid)


def _are_canaries_fresh(app: App, now: datetime) -> bool:
    """Reports come through, and have been for long enough to judge silence by."""
    document = app.store.get(CANARY)
    since = document.fields.get("since") if document else None
    if document is None or not isinstance(since, datetime):
        return False
    quiet = now - document.updated_at
    return quiet <= canary_gap(app) and (now - since).total_seconds() >= app.policy.canary_s


def canary_gap(app: App) -> timedelta:
    """How long may pass between two canaries that count as unbroken."""
    return timedelta(seconds=max(3 * app.policy.tick_s, app.policy.canary_s / 2))


class _Unhashed:
    """An argument that is not part of a cache's key."""

    __slots__ = ("value",)

    def __init__(self, value: Mapping[str, object]) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unhashed)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=256)
def _parsed(sha256: str, fields: _Unhashed) -> JobSpec:  # noqa: ARG001 - the content's hash is the key
    return from_document(fields.value)
