"""Write what was decided: one atomic commit, with the events that it causes in the outbox."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from shared.app.context import App
from shared.app.load import Loaded, attempt_path, job_path, slice_path
from shared.app.messages import Wake, alert_message, wake_launch, wake_recovery
from shared.app.relay import Event, outbox_write, relay
from shared.core.alerts import alerts_of
from shared.core.console import readable
from shared.core.schedule import uncreated, undeleted, unrung, unwritten
from shared.core.situation import Situation
from shared.errors import ControlPlaneError
from shared.log import get
from shared.ports import Create, Fields, Guard, Message, Replace, Write
from shared.topology import Topic

LAUNCH, RECOVERY = "launch", "recovery"
_log = get("commit")


@dataclass(slots=True)
class _Outbox:
    """Events of one commit; their ids contain the revision that the commit makes."""

    prefix: str
    at: datetime
    writes: list[Write] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def add(self, topic: Topic, event: Message) -> None:
        self.events.append((f"outbox/{self.prefix}-{len(self.events)}", topic, event))
        self.writes.append(outbox_write(self.events[-1], self.at))


def commit(
    app: App, loaded: Loaded, decided: Situation, *, who: str, beside: Sequence[Write] = ()
) -> Situation | None:
    """Write a decision, publish what it causes, and return it as it stands now.

    ``beside`` goes into the same commit.  None when there was nothing to write.
    Raises Conflict when somebody else was first.
    """
    before, after = loaded.situation, _revised(loaded.situation, decided)
    writes = [*_documents(loaded, before, after), *beside]
    if not any(not isinstance(write, Guard) for write in writes):
        return None
    outbox = _Outbox(f"{after.slice.uid}-{after.slice.revision:08d}", after.now)
    for wake in _wakes(before, after, who):
        outbox.add(wake.topic, wake.message())
    for alert in alerts_of(after):
        outbox.add(Topic.ALERTS, alert_message(alert))
    app.store.commit([*writes, *_notes(after, who), *outbox.writes])
    for note in after.notes:
        _log.info("%s %s %s: %s", who, after.slice.name, note.event, note.text)
    _publish(app, outbox)
    return replace(after, notes=(), ledger=())


def _revised(before: Situation, after: Situation) -> Situation:
    """Raise the revision of each document that changed; the slice's with every commit."""
    job = after.job
    if job is not None and job != before.job:
        job = replace(job, revision=job.revision + 1)
    is_changed = (after.slice, job, after.attempts) != (before.slice, before.job, before.attempts)
    slice_ = after.slice
    if is_changed:
        slice_ = replace(slice_, revision=slice_.revision + 1)
    return replace(after, job=job, slice=slice_)


def _documents(loaded: Loaded, before: Situation, after: Situation) -> Iterator[Write]:
    yield _write(loaded, slice_path(after.slice.name), before.slice, after.slice)
    if after.job is not None:
        yield _write(loaded, job_path(after.job.id), before.job, after.job)
    known = {attempt.number: attempt for attempt in before.attempts}
    for attempt in after.attempts:
        old = known.get(attempt.number)
        if attempt != old:
            path = attempt_path(attempt.job, attempt.number)
            yield _write(loaded, path, old, attempt)
    for line in after.ledger:
        yield Create(f"ledger/{line.id}", readable(line))


def _write(loaded: Loaded, path: str, old: object, new: object) -> Write:
    token = loaded.tokens.get(path)
    if token is None:
        return Create(path, readable(new))
    return Guard(path, token) if old == new else Replace(path, readable(new), token)


def _notes(after: Situation, who: str) -> Iterator[Write]:
    """Write each sentence under a key that sorts by time."""
    where = job_path(after.job.id) if after.job else slice_path(after.slice.name)
    stamp = f"{after.now:%Y%m%dT%H%M%S.%f}-{after.slice.revision:06d}"
    for index, note in enumerate(after.notes):
        fields: Fields = {"at": after.now, "who": who, "event": str(note.event), "text": note.text}
        yield Create(f"{where}/timeline/{stamp}-{index:02d}", fields)


def _wakes(before: Situation, after: Situation, who: str) -> Iterator[Wake]:
    """Wake the owners of what this commit opens, unless the owner is the one who commits.

    What was open before is the tick's to tell again: two owners that both cannot go on, and
    woke each other with every look, would never rest.
    """
    name, job = after.slice.name, after.job
    if job is not None and job.slice != name and before.writer is not None and not after.writer:
        yield wake_launch(job.slice, "the last writer is dead")
    if who != LAUNCH and _orders(after) - _orders(before):
        yield wake_launch(name, "mandate")
    if who != RECOVERY and _bids(after) - _bids(before):
        yield wake_recovery(name, "bids")


def _orders(now: Situation) -> set[tuple[str, int, int]]:
    """What launch is to do, each by a name of its own."""
    written = {("write", each.number, each.mandate.sequence) for each in unwritten(now)}
    return written | {("ring", each.number, each.mandate.sequence) for each in unrung(now)}


def _bids(now: Situation) -> set[tuple[str, int, str]]:
    """What recovery is to do, each by a name of its own."""
    created = {("create", generation.number, bid.id) for generation, bid in uncreated(now)}
    return created | {("delete", generation.number, bid.id) for generation, bid in undeleted(now)}


def _publish(app: App, outbox: _Outbox) -> None:
    """Publish what was committed; what fails here is relayed by the next tick."""
    try:
        relay(app, outbox.events)
    except ControlPlaneError as error:
        _log.warning("the outbox waits for the tick: %s", error)
