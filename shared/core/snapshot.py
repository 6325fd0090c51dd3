"""The message of a host, checked and turned into a ``Host`` (docs/protocol.md §6).

It comes from a machine on which a user's program runs, so nothing in it is believed before its
tokens were compared.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from shared.core.hosts import Checkpoint, Host, HostAttempt, HostSetup, Progress
from shared.core.mandates import attempt_token, bid_token
from shared.errors import InvalidRequest, NotAuthorized

EVIDENCE_CHARS_MAX = 8_000
METRICS_MAX = 32

Name = Annotated[str, Field(max_length=128)]
Long = Annotated[str, Field(max_length=EVIDENCE_CHARS_MAX)]
Number = Annotated[int, Field(ge=0, le=2**53)]


class _Message(BaseModel):
    """Fields that a newer agent added are ignored: agents live for weeks."""

    model_config = ConfigDict(frozen=True, strict=True)


class _Attempt(_Message):
    job: Name
    number: Number
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    exit_code: int | None = None
    signal: int | None = None
    killed_by: Literal["", "mandate", "notice", "lease", "supervisor"] = ""
    told: bool = False
    evidence: Long = ""
    first_step_at: AwareDatetime | None = None
    flushed: bool = False


class _Setup(_Message):
    spec: Name
    exit_code: int | None = None
    signal: int | None = None
    evidence: Long = ""
    tries: Number = 0


class _Progress(_Message):
    step: Number
    total: Number | None = None
    metrics: Annotated[Mapping[Name, float], Field(max_length=METRICS_MAX)] = {}


class _Checkpoint(_Message):
    step: Number
    path: Annotated[str, Field(max_length=2048)]


class _Tokens(_Message):
    bid: Name = ""
    attempt: Name | None = None


class Snapshot(_Message):
    """What one host says is true now."""

    version: Literal[1]
    slice: Name
    slice_uid: Name
    generation: Number
    bid: Name
    node: Name
    host: Annotated[int, Field(ge=0, lt=10_000)]
    hosts: Number
    hostname: Name
    boot: Name
    sequence: Number
    at: AwareDatetime
    seen_sequence: Annotated[int, Field(ge=-1)]
    phase: Name
    alive: bool
    prepared: Name | None = None
    setup: _Setup | None = None
    attempt: _Attempt | None = None
    progress: _Progress | None = None
    checkpoint: _Checkpoint | None = None
    notice: Literal["", "preempted", "maintenance"] = ""
    problem: Long = ""
    tokens: _Tokens


def parse(data: bytes) -> Snapshot:
    """Read a message.  Raises InvalidRequest with the first field that is wrong."""
    try:
        return Snapshot.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "snapshot"
        raise InvalidRequest(f"snapshot: {where}: {first['msg']}") from None


def authenticate(snapshot: Snapshot, secret: bytes) -> None:
    """Compare the tokens.  Raises NotAuthorized."""
    mine = bid_token(secret, snapshot.slice_uid, snapshot.generation, snapshot.bid)
    _check("bid", mine, snapshot.tokens.bid)
    if snapshot.attempt is not None:
        mine = attempt_token(secret, snapshot.attempt.job, snapshot.attempt.number)
        _check("attempt", mine, snapshot.tokens.attempt or "")


def host_of(snapshot: Snapshot, *, published_at: datetime, received_at: datetime) -> Host:
    """Turn a message into what is stored of its host."""
    fields = snapshot.model_dump(exclude={"version", "tokens"})
    return Host(
        **{
            **fields,
            "setup": HostSetup(**fields["setup"]) if fields["setup"] else None,
            "attempt": HostAttempt(**fields["attempt"]) if fields["attempt"] else HostAttempt(),
            "progress": Progress(**fields["progress"]) if fields["progress"] else None,
            "checkpoint": Checkpoint(**fields["checkpoint"]) if fields["checkpoint"] else None,
            "published_at": published_at,
            "received_at": received_at,
        }
    )


def is_news(new: Host, old: Host | None) -> bool:
    """Tell whether a snapshot changes what anybody would decide; progress of others is not news."""
    if old is None:
        return True
    facts = ("boot", "seen_sequence", "phase", "alive", "prepared", "setup", "notice", "attempt")
    if any(getattr(new, name) != getattr(old, name) for name in facts):
        return True
    return new.host == 0 and (new.progress, new.checkpoint) != (old.progress, old.checkpoint)


def _check(name: str, mine: str, theirs: str) -> None:
    if not hmac.compare_digest(mine.encode(), theirs.encode()):
        raise NotAuthorized(f"snapshot: the {name} token does not match")
