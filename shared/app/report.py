"""report: record what hosts say about themselves. Touches nothing but documents."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from shared.app.context import App
from shared.app.instances import remember
from shared.app.load import slice_path
from shared.app.messages import MessageKind, Wake, wake_launch, wake_recovery
from shared.app.silence import CANARY, canary_gap
from shared.app.stored import host_of, written
from shared.core.console import readable
from shared.core.hosts import Host
from shared.core.snapshot import Snapshot, authenticate, is_news, parse
from shared.core.snapshot import host_of as host_in
from shared.errors import Conflict, FromTheFuture
from shared.ports import Create, Delivery, Document, Replace, Value
from shared.topology import Topic

_TRIES_MAX = 5


def receive(app: App, delivery: Delivery) -> None:
    """Record a host's snapshot, or a canary."""
    if delivery.message.attributes.get("kind") == MessageKind.CANARY:
        _record_canary(app)
        return
    wake = record(app, parse(delivery.message.data), published_at=delivery.published_at)
    if wake is not None:
        app.bus.publish(wake.topic, [wake.message()])


def record(app: App, snapshot: Snapshot, *, published_at: datetime) -> Wake | None:
    """Write down what a host says, if it is newer than what is known; say whom to wake.

    Raises NotAuthorized, FromTheFuture, Conflict, Unavailable.  Idempotent: by boot and sequence.
    """
    authenticate(snapshot, app.secret)
    host = host_in(snapshot, published_at=published_at, received_at=published_at)
    return _record(app, host) if _is_wanted(app, host) else None


def _is_wanted(app: App, host: Host) -> bool:
    """Drop what is about another slice of that name, or about a generation that is over."""
    document = app.store.get(slice_path(host.slice))
    if document is None or document.fields["uid"] != host.slice_uid:
        return False
    newest = document.fields["generation"]
    assert isinstance(newest, int), "a slice knows its newest generation"
    if host.generation > newest:
        raise FromTheFuture(f"{host.slice} has no generation {host.generation} yet")
    return bool(document.fields["live"])


def _record(app: App, host: Host) -> Wake | None:
    """Write the host's document unless a newer snapshot was first; say whom to wake."""
    path = f"{slice_path(host.slice)}/hosts/{host.key}"
    for _ in range(_TRIES_MAX):
        document = app.store.get(path)
        old = host_of(document) if document else None
        is_same_slice = old is not None and old.slice_uid == host.slice_uid
        if old is not None and is_same_slice and not host.replaces(old):
            return _again(host, old)
        old = old if is_same_slice else None
        wake = _wake(host, old)
        host = replace(host, wakes=str(wake.topic) if wake else "")
        try:
            app.store.commit([_write(path, host, document), *remember(app, host, old)])
        except Conflict:
            continue
        return wake
    raise Conflict(f"{path} is being written by others")


def _write(path: str, host: Host, document: Document | None) -> Create | Replace:
    # The Store's update time says when it was heard.
    fields = readable(replace(host, received_at=None))
    return written(path, fields, document)


def _wake(host: Host, old: Host | None) -> Wake | None:
    """Capacity is recovery's affair, work is launch's; most snapshots are nobody's."""
    if not is_news(host, old):
        return None
    if old is None or host.boot != old.boot or host.notice != old.notice:
        return wake_recovery(host.slice, _reason(host))
    return wake_launch(host.slice, _reason(host))


def _again(host: Host, old: Host) -> Wake | None:
    """Wake whom the same snapshot woke: whoever wrote it may have died before saying so."""
    if (host.boot, host.sequence) != (old.boot, old.sequence) or not old.wakes:
        return None
    to_recovery = old.wakes == Topic.PREEMPTIONS
    return (wake_recovery if to_recovery else wake_launch)(host.slice, _reason(host))


def _reason(host: Host) -> str:
    return f"host {host.host}: {host.notice or host.phase}"


def _record_canary(app: App) -> None:
    """Reports come through; remember since when without a break."""
    document = app.store.get(CANARY)
    if document is None:
        now = app.clock.now()
        app.store.commit([Create(CANARY, _canary(now))])
        return
    age = document.read_at - document.updated_at
    if age < timedelta(seconds=app.policy.tick_s / 2):
        return  # ticks may come twice
    since = document.fields["since"] if age <= canary_gap(app) else document.read_at
    assert isinstance(since, datetime), "a canary knows since when"
    fields = {**_canary(since), "at": document.read_at}
    # Another canary that was written meanwhile is as good as this one.
    with suppress(Conflict):
        app.store.commit([Replace(CANARY, fields, document.token)])


def _canary(since: datetime) -> dict[str, Value]:
    said = f"reports come through since {since:%Y-%m-%d %H:%M:%S} UTC"
    return {"summary": said, "since": since}
