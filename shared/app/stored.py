"""What several use cases read and write in the same way."""

from __future__ import annotations

from dataclasses import replace

from shared.core.codec import from_fields
from shared.core.hosts import Host
from shared.core.slices import Slice
from shared.errors import Unreadable
from shared.log import get
from shared.ports import Create, Document, Fields, Query, Replace, Store, Where

SLICES_MAX = 1000
LIVE_SLICES = Query("slices", (Where("live", "==", value=True),), limit=SLICES_MAX)
_log = get("stored")


def host_of(document: Document) -> Host:
    """Read a host; when it was heard is the Store's own time."""
    host = from_fields(Host, document.fields)
    return replace(host, received_at=document.updated_at)


def written(path: str, fields: Fields, old: Document | None) -> Create | Replace:
    """Write a whole document as it was read, or make it if it was not there."""
    return Replace(path, fields, old.token) if old else Create(path, fields)


def live_slices(store: Store) -> list[Slice]:
    """Read the slices that may have something in the cloud; one that cannot be read hides none."""
    return read_slices(store, LIVE_SLICES)


def owners_slices(store: Store, owner: str) -> list[Slice]:
    """Read those of one owner."""
    mine = replace(LIVE_SLICES, where=(*LIVE_SLICES.where, Where("owner", "==", owner)))
    return read_slices(store, mine)


def read_slices(store: Store, query: Query) -> list[Slice]:
    """Read the slices that match; one that cannot be read is left out, and said in the log."""
    slices = []
    for document in store.query(query):
        try:
            slices.append(from_fields(Slice, document.fields))
        except Unreadable as error:
            _log.error("%s: %s", document.path, error)
    return slices
