"""The seal: an installation's documents move elsewhere, so nothing is decided on these any more.

One document says it. Whoever finds it performs nothing: two installations that both hold a slice
would delete each other's. It stands on a box that was exported, and on a target that is not yet
filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from shared.core.codec import from_fields, to_fields
from shared.errors import Conflict, Permanent
from shared.ports import Create, Delete, Store

SEALED = "control/sealed"


class SealedError(Permanent):
    """Nothing may be done here: the documents move, or have moved."""


@dataclass(frozen=True, slots=True)
class Seal:
    """Since when, by whom and why; ``summary`` is a sentence for people."""

    at: datetime
    by: str
    summary: str


def find_seal(store: Store) -> Seal | None:
    """Return the seal, if there is one.  Raises Unavailable."""
    document = store.get(SEALED)
    return from_fields(Seal, document.fields) if document else None


def check_unsealed(store: Store) -> None:
    """Raise SealedError if there is a seal."""
    seal = find_seal(store)
    if seal is not None:
        raise SealedError(f"sealed since {seal.at:%Y-%m-%d %H:%M} UTC: {seal.summary}")


def put_seal(store: Store, seal: Seal) -> Seal:
    """Seal, and return the seal that stands: an earlier one stays.  Idempotent: by path."""
    try:
        store.commit([Create(SEALED, to_fields(seal))])
    except Conflict:
        return find_seal(store) or seal
    return seal


def break_seal(store: Store) -> None:
    """Take the seal away.  Idempotent: by path."""
    store.commit([Delete(SEALED)])
