"""Places in the minute's budget of requests: one is taken right before each request.

``rate/{number}`` are the shares of ``core.rates``. A place is taken by compare-and-set, so it is
taken once; whoever dies with it has wasted it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from shared.app.context import App
from shared.app.stored import written
from shared.core import rates
from shared.core.codec import from_fields, to_fields
from shared.core.rates import Share
from shared.errors import Conflict
from shared.ports import Document, Query

# Each share is tried so often: what fails is a race that somebody else won.
_ROUNDS = 5
# When to look whether somebody else's request was made.
_AGAIN_S = 2.0


def rate_path(number: int) -> str:
    """Name the document of a share."""
    return f"rate/{number}"


def take_place(app: App, name: str) -> bool:
    """Take one place for a request under a name; False when the minute has none left.

    Raises Unavailable: then the place may be taken, and must not be used; Conflict when somebody
    else took one for the same name a moment ago.
    """
    count = rates.shares(app.limits.creates_per_minute)
    home = rates.home_of(name, count)
    found = app.store.get(rate_path(home))
    _check_not_asking(app, name, [found] if found else [])
    if _take(app, home, found, name):
        return True
    for _ in range(_ROUNDS):
        shares = _shares(app)
        _check_not_asking(app, name, shares.values())
        for number in (*range(home, count), *range(home)):
            if _take(app, number, shares.get(rate_path(number)), name):
                return True
        if _places(app, shares, app.clock.now()) == 0:
            return False
    return False


def places_left(app: App, at: datetime) -> int:
    """Count the places that are left in a minute."""
    return _places(app, _shares(app), at)


def _check_not_asking(app: App, name: str, documents: Iterable[Document]) -> None:
    if any(rates.is_asking(_read(each), name, each.read_at, app.policy) for each in documents):
        raise Conflict(f"{name} is being asked for by somebody else", after_s=_AGAIN_S)


def _take(app: App, number: int, document: Document | None, name: str) -> bool:
    old = _read(document)
    at = document.read_at if document else app.clock.now()
    new = rates.take(old, rates.size(app.limits.creates_per_minute, number), at, name)
    if new is None:
        return False
    try:
        app.store.commit([written(rate_path(number), to_fields(new), document)])
    except Conflict:
        return False
    return True


def _places(app: App, found: dict[str, Document], at: datetime) -> int:
    per_minute = app.limits.creates_per_minute
    return sum(
        rates.left(_read(found.get(rate_path(number))), rates.size(per_minute, number), at)
        for number in range(rates.shares(per_minute))
    )


def _shares(app: App) -> dict[str, Document]:
    count = rates.shares(app.limits.creates_per_minute)
    # Shares of a larger budget may be there still.
    documents = app.store.query(Query("rate", limit=rates.SHARES_MAX))
    names = {rate_path(number) for number in range(count)}
    return {document.path: document for document in documents if document.path in names}


def _read(document: Document | None) -> Share | None:
    return from_fields(Share, document.fields) if document else None
