"""Whether silence may be judged at all (docs/protocol.md §6).

A silent host is fenced by deleting its slice, so the question is asked before, and asked widely:
do reports come through, and is it this slice that is silent, or everybody?
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from shared.app.context import App
from shared.app.stored import host_of
from shared.core.codec import from_fields
from shared.core.hosts import Host
from shared.core.slices import Slice
from shared.errors import Unreadable
from shared.log import get
from shared.ports import Query, Where

CANARY = "control/canary"
SLICES_MAX = 1000
# 64 hosts, and the generations that are still being deleted.
HOSTS_MAX = 1000
# Fewer silent hosts than this are no pattern.
SILENT_MIN = 3
_log = get("silence")


def can_judge(app: App, slice_: Slice, hosts: Sequence[Host], now: datetime) -> bool:
    """Reports come through, have done so for a while, and most others are heard."""
    if not _are_canaries_fresh(app, now):
        return False
    mine = _serving(slice_, hosts)
    return not _silent(app, mine, now) or not _are_most_silent(app, now)


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


def _are_most_silent(app: App, now: datetime) -> bool:
    """More than half of all hosts, of more than one slice: then something between us is broken.

    Asked only when a host is silent, because it reads the hosts of all slices.
    """
    silent, count, slices = 0, 0, 0
    query = Query("slices", (Where("live", "==", True),), limit=SLICES_MAX)  # noqa: FBT003
    for document in app.store.query(query):
        try:
            slice_ = from_fields(Slice, document.fields)
        except Unreadable:
            continue  # the tick says so
        hosts = _serving(slice_, _hosts_of(app, slice_))
        quiet = len(_silent(app, hosts, now))
        silent, count, slices = silent + quiet, count + len(hosts), slices + (quiet > 0)
    if slices < 2 or silent < SILENT_MIN or 2 * silent <= count:  # noqa: PLR2004 - half; several
        return False
    _log.error("%d of %d hosts are silent together: nobody is given up", silent, count)
    return True


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


def _silent(app: App, hosts: Sequence[Host], now: datetime) -> list[Host]:
    silent_s = app.policy.silent_host_s
    return [
        host
        for host in hosts
        if host.received_at is None or (now - host.received_at).total_seconds() >= silent_s
    ]
