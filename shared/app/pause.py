"""The kill switch as the use cases need it: read, switched on, switched off."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from shared.core.codec import from_fields, to_fields
from shared.core.ordering import Refused
from shared.core.pausing import Pause
from shared.ports import Create, Delete, Store, Write

PAUSE = "control/pause"


def find_pause(store: Store) -> Pause | None:
    """Return what says that nothing may be created, if anything does.  Raises Unavailable."""
    document = store.get(PAUSE)
    return from_fields(Pause, document.fields) if document else None


def pause(store: Store, by: str, at: datetime, reason: str) -> Write:
    """Switch it on; who may is asked before.  Raises Refused when it is on."""
    found = store.get(PAUSE)
    if found is not None:
        raise Refused(f"it is {from_fields(Pause, found.fields).text}")
    made = Pause(by, at, reason)
    return Create(PAUSE, to_fields(replace(made, summary=f"{made.text}; nothing is created")))


def unpause(store: Store) -> Write:
    """Switch it off; who may is asked before.  Raises Refused when it is not on."""
    document = store.get(PAUSE)
    if document is None:
        raise Refused("nothing is paused")
    return Delete(PAUSE, document.token)
