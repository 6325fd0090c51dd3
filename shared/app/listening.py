"""What hosts that cannot publish leave beside their mandate (docs/protocol.md §6).

It is read before silence is judged, and only then. It is recorded as if it had been published:
the same checks, the same tokens, the same order. Launch alone does it: the place is its own, and
it knows the secret that tokens are signed with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shared.app.context import App
from shared.app.load import Loaded, load
from shared.app.report import record
from shared.core.names import left_reports
from shared.core.situation import Situation
from shared.core.snapshot import Snapshot, authenticate, parse
from shared.core.unheard import unheard
from shared.errors import ControlPlaneError, InvalidRequest, OutOfTime, Permanent
from shared.log import get
from shared.ports import Blob
from shared.topology import Topic

_log = get("listening")


def load_and_listen(app: App, name: str) -> Loaded | None:
    """Load a slice; where silence is about to be judged, first hear what its hosts left.

    Raises Conflict and Unavailable of the Store, OutOfTime.  Idempotent: by boot and sequence.
    """
    loaded = load(app, name)
    if loaded is None or loaded.situation.has_listened:
        return loaded
    asked = loaded.situation
    try:
        left = list(_left(app, asked))
    except OutOfTime:
        raise
    except ControlPlaneError as error:
        _log.warning("%s: its silent hosts are not judged: %s", name, error)
        return loaded
    for blob in left:
        _take_in(app, asked, blob)
    loaded = load(app, name) if left else loaded
    return _listened(loaded, asked) if loaded else None


def _listened(loaded: Loaded, asked: Situation) -> Loaded:
    """Say that everybody was listened to who is silent: all of them were when it was asked."""
    now = loaded.situation
    has_listened = now.slice.uid == asked.slice.uid and unheard(now) <= unheard(asked)
    return replace(loaded, situation=replace(now, has_listened=has_listened))


def _left(app: App, now: Situation) -> Iterator[Blob]:
    """Read what the silent hosts of the current generation left: one list finds most nothing."""
    wanted = {_place(now, bid, host) for bid, host in unheard(now)}
    app.deadline.check()
    for info in app.blobs.list(_prefix(now)):
        if info.name in wanted:
            app.deadline.check()
            blob = app.blobs.get(info.name)
            if blob is not None:
                yield blob


def _take_in(app: App, now: Situation, blob: Blob) -> None:
    """Record a report; one that is no report of that host is nothing that was said.

    Whoever listens is launch, and settles with what it heard: it need not be woken, and a wake
    for each look at the same report would never end.
    """
    try:
        snapshot = _believed(app, now, blob)
    except Permanent as error:
        _log.error("%s is not believed: %s", blob.name, error)
        return
    wake = record(app, snapshot, published_at=blob.updated_at)
    if wake is not None and wake.topic is not Topic.LAUNCHES:
        app.bus.publish(wake.topic, [wake.message()])


def _believed(app: App, now: Situation, blob: Blob) -> Snapshot:
    """Read a report of the host in whose place it lies.  Raises InvalidRequest, NotAuthorized."""
    snapshot = parse(blob.data)
    place = (snapshot.slice, snapshot.slice_uid, snapshot.generation)
    if place != (now.slice.name, now.slice.uid, now.slice.generation):
        raise InvalidRequest(f"it is of {snapshot.slice}, generation {snapshot.generation}")
    if blob.name != _place(now, snapshot.bid, snapshot.host):
        raise InvalidRequest(f"it is of host {snapshot.host} of request {snapshot.bid}")
    authenticate(snapshot, app.secret)
    return snapshot


def _place(now: Situation, bid: str, host: int) -> str:
    """Name what a host leaves, as its agent does."""
    return f"{_prefix(now)}{bid}-{host}.json"


def _prefix(now: Situation) -> str:
    return left_reports(now.slice.uid, now.slice.generation, now.slice.folder)
