"""Users' orders: what a command says, and the document that holds its outcome.

The client makes every id, so the same order given twice is one order (docs/protocol.md §7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

COMMAND_VERSION = 1
# How a refusal ends that is about money.
I_PAY = "--i-pay goes ahead"


class OrderKind(StrEnum):
    """What can be ordered."""

    SUBMIT = "submit"
    STOP = "stop"
    RESUME = "resume"
    RERUN = "rerun"
    RELEASE = "release"
    SLICE_CREATE = "slice-create"
    SLICE_RECREATE = "slice-recreate"
    SLICE_RESTART = "slice-restart"
    SLICE_ADOPT = "slice-adopt"
    GRANT_ADD = "grant-add"
    GRANT_REMOVE = "grant-remove"
    PAUSE = "pause"
    UNPAUSE = "unpause"
    SWEEP = "sweep"
    PARKED_RETRY = "parked-retry"


class Verdict(StrEnum):
    """What became of an order."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Command:
    """One order of a user, as it travels on the topic ``commands``.

    ``id_token`` says who gives it, where that must be proved; whoever takes the order off the
    topic reads it and lets it go.
    """

    id: str
    kind: OrderKind
    owner: str
    args: Mapping[str, object] = field(default_factory=dict)
    version: int = COMMAND_VERSION
    id_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The document ``commands/{id}``: written in the commit that carries the order out.

    ``about`` is the name of what was ordered about, where that is no job: a slice, a grant, zones,
    a parked message. ``number`` is 0 where it was refused.
    """

    id: str
    kind: OrderKind
    owner: str
    outcome: Verdict
    reason: str
    job: str
    number: int
    created_at: datetime
    owner_email: str = ""
    owner_subject: str = ""
    about: str = ""
