"""report, its other ear: what Google's audit log says of our machines.

A sink of the project forwards it to a topic of its own, on which no worker can publish: only
what comes by the subscription of that topic is handed to this use case. Like the rest of
report it touches nothing but documents.
"""

from __future__ import annotations

from shared.app.context import App
from shared.app.instances import find
from shared.app.messages import wake_recovery
from shared.app.perform import Mark
from shared.app.settle import settle
from shared.core.audit import NEWS_S, Meaning, Word, classify, parse
from shared.core.capacity import take_announcement, take_word
from shared.core.instances import Instance
from shared.core.situation import Situation
from shared.core.sweeping import parse_own_name
from shared.log import get
from shared.ports import Delivery, Query, Where

REPORT = "report"
_log = get("audit")


def receive(app: App, delivery: Delivery) -> None:
    """Take in one entry; what is not about us is left alone."""
    entry = parse(delivery.message.data)
    word = classify(entry, app.project)
    if word is None:
        _log.debug("%s of %s is nothing to us", entry.method, entry.payload.resource)
    elif word.meaning is Meaning.TOUCHED:
        _look_at(app, _owner(app, word.name), word)
    else:
        _take(app, word)


def _take(app: App, word: Word) -> None:
    """Take in what is said of a VM; one that is not ours, or never spoke, is the tick's affair."""
    instance = find(app, word.name)
    if instance is None:
        _log.info("%s: no host of ours spoke from %s", word.detail, word.name)
    elif (app.clock.now() - word.at).total_seconds() > NEWS_S:
        _look_at(app, instance.slice, word)
    else:
        settle(app, instance.slice, who=REPORT, change=_mark(instance, word))


def _mark(instance: Instance, word: Word) -> Mark:
    def mark(now: Situation) -> Situation:
        if now.slice.uid != instance.slice_uid:
            return now
        which, zone, detail = (instance.generation, instance.bid), word.zone, word.detail
        if word.cause is None:
            return take_announcement(now, *which, zone=zone, detail=detail)
        return take_word(now, *which, zone=zone, cause=word.cause, detail=detail)

    return mark


def _owner(app: App, name: str) -> str | None:
    """Name the slice that a node or queued resource belongs to, if it is ours."""
    parsed = parse_own_name(name, app.installation)
    if parsed is None:
        return None
    found = app.store.query(Query("slices", (Where("uid", "==", parsed.slice_uid),), limit=1))
    return str(found[0].fields["name"]) if found else None


def _look_at(app: App, slice_: str | None, word: Word) -> None:
    """Let recovery see for itself: what is said is old, or does not say what came of it."""
    if slice_ is None:
        _log.debug("%s of %s is nothing to us", word.detail, word.name)
        return
    wake = wake_recovery(slice_, word.detail, look=True)
    app.bus.publish(wake.topic, [wake.message()])
