"""Slices with their generations, bids and mandates, as the documents of the Store hold them.

Like jobs they are immutable, and all their times are the Store's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from shared.core.causes import Cause
from shared.core.model import NO_ATTEMPT


class Kind(StrEnum):
    """Who wanted a slice."""

    TEMPORARY = "temporary"
    NAMED = "named"
    ADOPTED = "adopted"


class BidStage(StrEnum):
    """How far the request for a bid is known to have come."""

    INTENDED = "intended"
    REQUESTED = "requested"
    PRESENT = "present"
    GONE = "gone"


class View(StrEnum):
    """What an observation says of a bid."""

    PENDING = "pending"
    READY = "ready"
    LOST = "lost"
    HOST_SILENT = "host_silent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Bid:
    """One queued resource asking for a generation in one zone.

    ``in_line``: it waits until it is called up. ``not_before`` is when it is asked for, or
    deleted, at the earliest, after so many ``tries`` that failed. ``unknown_since`` is set when
    people were told that nobody can look at it. A ``foreign`` one is a node that others made: it
    was never asked for, and it is deleted only where its slice is disposable.
    """

    id: str
    name: str
    zone: str
    accelerator_type: str
    tier: str
    runtime_version: str
    hosts: int
    intended_at: datetime
    job: str = ""
    stage: BidStage = BidStage.INTENDED
    operation: str = ""
    requested_at: datetime | None = None
    verdict: View = View.PENDING
    lost_cause: Cause | None = None
    state: str = ""
    detail: str = ""
    refused: bool = False
    node_uid: str = ""
    ready_at: datetime | None = None
    booted_at: datetime | None = None
    observed_at: datetime | None = None
    stopped_at: datetime | None = None
    absent_at: datetime | None = None
    absent_again_at: datetime | None = None
    condemned_at: datetime | None = None
    condemned_for: str = ""
    delete_after: datetime | None = None
    deleted_at: datetime | None = None
    gone_at: datetime | None = None
    unknown_since: datetime | None = None
    in_line: bool = False
    not_before: datetime | None = None
    tries: int = 0
    foreign: bool = False

    @property
    def is_condemned(self) -> bool:
        """It shall go, whatever it is."""
        return self.condemned_at is not None


@dataclass(frozen=True, slots=True)
class Mandate:
    """What the agents of one generation are told, and how far the telling has come.

    The object in Cloud Storage is a pure function of this value (``core.mandates.render``).
    ``restart`` names boots that shall end, by host: each of them reboots once nothing runs there.
    """

    sequence: int
    action: str
    reason: str
    ordered_at: datetime
    written: int = 0
    job: str = ""
    attempt: int = NO_ATTEMPT
    spec_sha256: str = ""
    bid: str = ""
    bids: tuple[str, ...] = ()
    boots: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, object] = field(default_factory=dict)
    lease_s: float = 0.0
    grace_s: float = 0.0
    tries: int = 0
    rings: bool = False
    rung: int = 0
    restart: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_written(self) -> bool:
        """The stored object says this, or something newer."""
        return self.written >= self.sequence


@dataclass(frozen=True, slots=True)
class Generation:
    """One incarnation of a slice.

    ``restart`` are the boots that its owner wants to end, by host, since ``restart_at``.
    """

    number: int
    cause: str
    created_at: datetime
    mandate: Mandate
    bids: tuple[Bid, ...] = ()
    claimed: str = ""
    claimed_at: datetime | None = None
    prepared_at: datetime | None = None
    condemned_at: datetime | None = None
    noticed_at: datetime | None = None
    restart: Mapping[str, str] = field(default_factory=dict)
    restart_at: datetime | None = None

    @property
    def is_condemned(self) -> bool:
        """It was lost or released; its mandate is ``end`` for good."""
        return self.condemned_at is not None

    @property
    def claimed_bid(self) -> Bid | None:
        """The one bid that serves the slice, if any."""
        return next((bid for bid in self.bids if self.claimed and bid.id == self.claimed), None)

    @property
    def foreign_bid(self) -> Bid | None:
        """The node that others made, in the generation that was adopted."""
        return next((bid for bid in self.bids if bid.foreign), None)

    def with_bid(self, bid: Bid) -> Generation:
        """Replace the bid of the same id."""
        bids = tuple(bid if old.id == bid.id else old for old in self.bids)
        return replace(self, bids=bids)


@dataclass(frozen=True, slots=True)
class Slice:
    """TPU capacity with a name.

    ``generations`` holds the current one and those that are still being deleted, oldest first.
    ``live`` is false once nothing of it is left in the cloud and nobody wants it any more.
    ``worker_account`` is what its VMs run as, for good; "" is the project's default. ``folder``
    is its team's in the bucket, as lasting; "" is everybody's who is in no team. ``turn`` is its
    place among those that wait to be asked for (``core.gate``), while it does.

    A named slice is made again by itself if ``keep`` says so, else when a job needs it, or
    when its owner ordered that: ``asked`` is the generation that was ordered last. ``i_pay`` is
    its owner's word for what costs. An adopted one is ``disposable`` if it may be deleted.
    """

    name: str
    uid: str
    owner: str
    kind: Kind
    accelerator_type: str
    zones: tuple[str, ...]
    tier: str
    runtime_version: str
    hosts: int
    created_at: datetime
    live: bool = True
    wanted: bool = True
    job: str = ""
    held_until: datetime | None = None
    generation: int = 0
    generations: tuple[Generation, ...] = ()
    zone_turn: int = 0
    next_bid_at: datetime | None = None
    due_at: datetime | None = None
    summary: str = ""
    reason: str = ""
    revision: int = 0
    worker_account: str = ""
    folder: str = ""
    turn: str = ""
    keep: bool = False
    asked: int = 1
    i_pay: bool = False
    disposable: bool = False

    @property
    def can_be_made(self) -> bool:
        """It may be deleted and made again: what others made may not, unless they said so."""
        return self.kind is not Kind.ADOPTED or self.disposable

    @property
    def current(self) -> Generation | None:
        """The generation that serves, or will; None while none is wanted or it was lost."""
        newest = self.generations[-1] if self.generations else None
        if newest is None or newest.number != self.generation or newest.is_condemned:
            return None
        return newest

    @property
    def is_at_work(self) -> bool:
        """An attempt was started, everybody was told, and nothing else is under way."""
        current = self.current
        return (
            current is not None
            and len(self.generations) == 1
            and current.mandate.action == "start"
            and current.mandate.is_written
            and not any(bid.is_condemned and bid.gone_at is None for bid in current.bids)
        )

    def with_generation(self, generation: Generation) -> Slice:
        """Replace the generation of the same number."""
        kept = tuple(
            generation if old.number == generation.number else old for old in self.generations
        )
        return replace(self, generations=kept)
