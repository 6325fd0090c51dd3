"""Whether silence may be judged at all (docs/protocol.md §6).

A silent host is fenced by deleting its slice, so the question is asked before, and asked widely:
do reports come through, and is it this slice that is silent, or everybody?
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from shared.app.context import App
from shared.app.stored import host_of, live_slices, written
from shared.core.codec import from_fields, to_fields
from shared.core.hosts import Host
from shared.core.slices import Slice
from shared.errors import Conflict
from shared.log import get
from shared.ports import Query, Where

CANARY = "control/canary"
SILENCE = "control/silence"
# 64 hosts, and the generations that are still being deleted.
HOSTS_MAX = 1000
# Fewer silent hosts than this are no pattern.
SILENT_MIN = 3
_log = get("silence")


def can_judge(app: App, now: datetime, *, is_somebody_silent: bool) -> bool:
    """Reports come through, have done so for a while, and most others are heard.

    Who is heard is asked only where somebody is silent.
    """
    if not _are_canaries_fresh(app, now):
        return False
    return not is_somebody_silent or not _are_most_silent(app, now)


def canary_gap(app: App) -> timedelta:
    """How long may pass between two canaries that count as unbroken."""
    return timedelta(seconds=max(3 * app.policy.tick_s, app.policy.canary_s / 2))


def _are_canaries_fresh(app: App, now: datetime) -> bool:
    document = app.store.get(CANARY)
    since = document.fields.get("since") if document else None
    if document is None or not isinstance(since, datetime):
        return False
    quiet = now - document.updated_at
    return quiet <= canary_gap(app) and (now - since).total_seconds() >= app.policy.canary_s


def mass_silence(app: App) -> str:
    """Say that most hosts are silent together, if they were when that was last counted."""
    document = app.store.get(SILENCE)
    if document is None:
        return ""
    count = from_fields(Count, document.fields)
    # It is counted when somebody looks at a silent slice: after a tenth of the silence at least.
    good_s = 3 * app.policy.tick_s + app.policy.silent_host_s / 5
    is_old = (document.read_at - document.updated_at).total_seconds() > good_s
    return f"{_said(count)}: nobody is given up" if count.is_most and not is_old else ""


@dataclass(frozen=True, slots=True)
class Count:
    """How many hosts serve, how many of them are silent, and in how many slices."""

    hosts: int = 0
    silent: int = 0
    slices: int = 0

    @property
    def is_most(self) -> bool:
        """More than half, of more than one slice: then something between us is broken."""
        return self.slices > 1 and self.silent >= SILENT_MIN and 2 * self.silent > self.hosts


def _may_be_silent_s(app: App) -> float:
    """After how long a host counts here: when the first is silent, others still have a turn."""
    return max(app.policy.silent_host_s / 2, app.policy.silent_host_s - app.policy.snapshot_s)


def _are_most_silent(app: App, now: datetime) -> bool:
    """Ask about all hosts; only when one is silent, and not once for each that is.

    A count is good for a tick when it says that most are silent, which leaves everything as it
    is, and for a moment when it says that they are not.
    """
    document = app.store.get(SILENCE)
    if document is not None:
        last = from_fields(Count, document.fields)
        good_s = app.policy.tick_s / (1 if last.is_most else 6)
        if (document.read_at - document.updated_at).total_seconds() < good_s:
            return last.is_most
    count = _count(app, now)
    fields = {"summary": _said(count), "at": now, **to_fields(count)}
    # Whoever counted at the same time counted the same.
    with suppress(Conflict):
        app.store.commit([written(SILENCE, fields, document)])
    if count.is_most:
        _log.error("%s: nobody is given up", _said(count))
    return count.is_most


def _said(count: Count) -> str:
    return f"{count.silent} of {count.hosts} hosts are silent, in {count.slices} slices"


def _count(app: App, now: datetime) -> Count:
    """Read the hosts of all slices."""
    count = Count()
    for slice_ in live_slices(app.store):
        hosts = _serving(slice_, _hosts_of(app, slice_))
        quiet = len(_silent(hosts, now, _may_be_silent_s(app)))
        count = Count(
            count.hosts + len(hosts), count.silent + quiet, count.slices + (1 if quiet else 0)
        )
    return count


def _hosts_of(app: App, slice_: Slice) -> list[Host]:
    query = Query(
        f"slices/{slice_.name}/hosts",
        (Where("generation", "==", slice_.generation),),
        limit=HOSTS_MAX,
    )
    return [host_of(document) for document in app.store.query(query)]


def _serving(slice_: Slice, hosts: Sequence[Host]) -> list[Host]:
    """Keep the hosts that serve the slice now."""
    current = slice_.current
    if current is None or not current.claimed:
        return []
    place = (slice_.uid, current.number, current.claimed)
    return [host for host in hosts if (host.slice_uid, host.generation, host.bid) == place]


def _silent(hosts: Sequence[Host], now: datetime, silent_s: float) -> list[Host]:
    return [
        host
        for host in hosts
        if host.received_at is None or (now - host.received_at).total_seconds() >= silent_s
    ]
