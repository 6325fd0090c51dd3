"""Publish events that were committed, then forget them: twice is fine, never is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from shared.app.context import App
from shared.ports import Delete, Document, Message, Query, Where
from shared.topology import Topic

BATCH = 50

Event = tuple[str, Topic, Message]


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
