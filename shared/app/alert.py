"""alert: tell people, each webhook once; the topic is the hook for everything else.

It reads nothing but its message, ``told/`` and ``webhooks/``, and it is woken by a topic of its
own: whatever a webhook does, no recovery waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from shared.app.context import App
from shared.app.stored import written
from shared.core.alert_limits import (
    KEPT,
    Bucket,
    Step,
    Telling,
    TellingState,
    admit,
    failed,
    posted,
)
from shared.core.alert_routes import Target, route
from shared.core.alert_texts import body, headline
from shared.core.alerts import Alert, parse_alert
from shared.core.codec import from_fields, to_fields
from shared.errors import Conflict, Retryable, Unavailable
from shared.log import get
from shared.ports import Delivery, Document, Webhooks

# Deliveries of one storm meet at one document; the next delivery goes on.
_TRIES_MAX = 10
_log = get("alert")


@dataclass(frozen=True, slots=True)
class _Read:
    """What is stored of one webhook and one alert, and the documents it was read from."""

    telling: Telling
    bucket: Bucket
    told: Document | None
    limit: Document | None


def receive(app: App, delivery: Delivery) -> None:
    """Say what happened in one line, and to every webhook that wants to hear it.

    Raises Unavailable while a webhook is still to be told: the message comes again.
    """
    alert = parse_alert(delivery.message.data)
    if delivery.attempt == 1:
        _say(alert)
    if app.webhooks is None or not alert.id:
        return
    targets = route(app.webhooks.targets, kind=alert.kind, owner=alert.owner)
    waits = list(_tell_all(app, app.webhooks, alert, targets))
    if waits:
        raise Unavailable(f"{len(waits)} of {len(targets)} webhooks wait", after_s=min(waits))


def _say(alert: Alert) -> None:
    # Google's metric of failed jobs counts lines by their event.
    fields = {"kind": alert.kind, "event": alert.event, "slice": alert.slice}
    if alert.job is None:
        _log.info("%s: %s", alert.slice or "installation", alert.text, extra=fields)
        return
    job = alert.job
    fields["job"] = job.id
    text = "job %s %s: %s: %s"
    _log.info(text, job.number, job.name, alert.event, alert.text, extra=fields)


def _tell_all(app: App, webhooks: Webhooks, alert: Alert, targets: list[Target]) -> Iterator[float]:
    """Tell each webhook, whatever becomes of the others; yield how long each has to wait."""
    for target in targets:
        app.deadline.check()
        try:
            after_s = _tell(app, webhooks, _linked(alert, target), target)
        except Retryable as error:
            _log.warning("webhook %s: %s", target.name, error)
            after_s = error.after_s
        if after_s is not None:
            yield after_s


def _linked(alert: Alert, target: Target) -> Alert:
    if alert.link or alert.job is None:
        return alert
    return replace(alert, link=target.link.replace("{job}", alert.job.id))


def _tell(app: App, webhooks: Webhooks, alert: Alert, target: Target) -> float | None:
    """Tell one webhook, or return how long to wait.  Idempotent: by ``told/{alert}.{webhook}``.

    Raises Conflict when too many others tell it as well.
    """
    step = _write(app, alert, target, lambda read: _admit(app, target, read))
    if not step.posts:
        return step.after_s
    try:
        sent = body(target.kind, alert, step.more, app.clock.now())
        webhooks.post(target.name, sent, alert=alert.id)
    except Retryable as error:
        _log.warning("webhook %s: %s", target.name, error)
        after_s = error.after_s
        return _write(app, alert, target, lambda read: _failed(app, read, after_s)).after_s
    _write(app, alert, target, lambda read: _posted(app, step, read))
    return None


def _admit(app: App, target: Target, read: _Read) -> Step:
    return admit(target, read.telling, read.bucket, app.clock.now())


def _posted(app: App, step: Step, read: _Read) -> Step:
    return posted(step, read.telling, read.bucket, app.clock.now())


def _failed(app: App, read: _Read, after_s: float) -> Step:
    return failed(read.telling, read.bucket, app.clock.now(), after_s=after_s)


def _write(app: App, alert: Alert, target: Target, decide: Callable[[_Read], Step]) -> Step:
    """Load, decide, commit; again after a lost race.  Raises Conflict."""
    for _ in range(_TRIES_MAX):
        read = _read(app, alert, target)
        step = decide(read)
        if (step.telling, step.bucket) == (read.telling, read.bucket):
            return step
        with suppress(Conflict):
            _commit(app, alert, target, read, step)
            return step
    raise Conflict(f"alert {alert.id}: too many others tell {target.name}")


def _commit(app: App, alert: Alert, target: Target, read: _Read, step: Step) -> None:
    app.store.commit(
        [
            written(_told_path(alert, target), to_fields(step.telling), read.told),
            written(_limit_path(alert, target), to_fields(step.bucket), read.limit),
        ]
    )
    if step.telling.state is TellingState.DROPPED:
        _log.error("webhook %s: gave up on alert %s", target.name, alert.id)


def _read(app: App, alert: Alert, target: Target) -> _Read:
    told = app.store.get(_told_path(alert, target))
    limit = app.store.get(_limit_path(alert, target))
    return _Read(
        telling=from_fields(Telling, told.fields) if told else _telling(app, alert, target),
        bucket=from_fields(Bucket, limit.fields) if limit else _bucket(app, alert, target),
        told=told,
        limit=limit,
    )


def _telling(app: App, alert: Alert, target: Target) -> Telling:
    now = app.clock.now()
    return Telling(
        summary=f"{headline(alert)}: for {target.name}",
        alert=alert.id,
        kind=alert.kind,
        number=alert.job.number if alert.job else 0,
        target=target.name,
        owner=alert.owner,
        first_at=now,
        at=now,
        expires_at=now + KEPT,
    )


def _bucket(app: App, alert: Alert, target: Target) -> Bucket:
    now = app.clock.now()
    return Bucket("", target.name, alert.owner, float(target.burst), now, now + KEPT)


def _told_path(alert: Alert, target: Target) -> str:
    return f"told/{_segment(alert.id)}.{target.name}"


def _limit_path(alert: Alert, target: Target) -> str:
    return f"webhooks/{target.name}.{_segment(alert.owner or 'installation')}"


def _segment(text: str) -> str:
    """Make a part of a path of what may hold anything."""
    return text.replace("/", "_")[:200]
