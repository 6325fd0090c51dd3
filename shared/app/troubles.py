"""Remember what troubles the control plane itself, and tell people of what lasts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from shared.app.context import App
from shared.app.messages import alert_message
from shared.app.relay import Event, outbox_write, relay
from shared.app.stored import written
from shared.core.alerts import Alert
from shared.core.codec import from_fields, to_fields
from shared.core.troubles import Troubles, follow
from shared.errors import Conflict
from shared.log import get
from shared.topology import Topic

TROUBLES = "control/troubles"
_log = get("health_check")


def follow_troubles(app: App, seen: Mapping[str, str], at: datetime) -> None:
    """Write what a tick met, and tell of it.  Raises Unavailable.  Idempotent: by the tick's time.

    What people are told is in the same commit, so it is told once however often this dies.
    """
    document = app.store.get(TROUBLES)
    before = from_fields(Troubles, document.fields) if document else Troubles()
    after, alerts = follow(before, seen, at, app.policy)
    if document is not None and after == before:
        return
    fields = to_fields(after)
    events = [alert_event(alert) for alert in alerts]
    try:
        app.store.commit(
            [
                written(TROUBLES, fields, document),
                *(outbox_write(event, at) for event in events),
            ]
        )
    except Conflict:
        return  # another tick is at work: it met the same
    for alert in alerts:
        _log.warning("%s: %s", alert.kind, alert.text)
    relay(app, events)


def alert_event(alert: Alert) -> Event:
    """Make the event of an alert that no slice's commit carries."""
    return f"outbox/{alert.id}", Topic.ALERTS, alert_message(alert)
