"""Publish events that were committed, then forget them: twice is fine, never is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from shared.app.context import App
from shared.ports import Create, Delete, Document, Fields, Message, Query, Where
from shared.topology import Topic

BATCH = 50

Event = tuple[str, Topic, Message]


def outbox_write(event: Event, at: datetime) -> Create:
    """Write an event beside the change that causes it."""
    path, topic, told = event
    fields: Fields = {
        "summary": f"waits to be published on {topic}",
        "topic": str(topic),
        "data": told.data.decode(),
        "attributes": dict(told.attributes),
        "created_at": at,
    }
    return Create(path, fields)


def relay(app: App, events: Sequence[Event]) -> None:
    """Publish events of the outbox and delete their documents.  Raises Unavailable."""
    if not events:
        return
    by_topic: dict[Topic, list[Message]] = defaultdict(list)
    for _, topic, event in events:
        by_topic[topic].append(event)
    for topic, messages in by_topic.items():
        app.bus.publish(topic, messages)
    app.store.commit([Delete(path) for path, _, _ in events])


def waiting_since(app: App) -> datetime | None:
    """Say when the oldest event was committed that nobody published yet."""
    found = app.store.query(Query("outbox", order_by="created_at", limit=1))
    if not found:
        return None
    at = found[0].fields["created_at"]
    assert isinstance(at, datetime), "the outbox holds what commits wrote"
    return at


def relay_old(app: App, older_than: datetime) -> int:
    """Publish what whoever committed it did not; return how many there were."""
    query = Query(
        "outbox",
        (Where("created_at", "<=", older_than),),
        order_by="created_at",
        limit=BATCH,
    )
    events = [_event(document) for document in app.store.query(query)]
    relay(app, events)
    return len(events)


def _event(document: Document) -> Event:
    fields = document.fields
    attributes = fields["attributes"]
    assert isinstance(attributes, Mapping), "the outbox holds what commits wrote"
    texts = {key: str(value) for key, value in attributes.items()}
    event = Message(str(fields["data"]).encode(), texts)
    return document.path, Topic(str(fields["topic"])), event
