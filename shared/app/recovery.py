"""recovery: make capacity match the wish. Owns the creation and deletion of bids."""

from __future__ import annotations

from shared.app.commit import RECOVERY
from shared.app.context import App
from shared.app.load import load
from shared.app.messages import MessageKind, name_in, read
from shared.app.observing import observation
from shared.app.orphans import delete_orphan
from shared.app.perform import Mark
from shared.app.settle import settle
from shared.core.slices import View
from shared.errors import Retryable
from shared.log import get
from shared.ports import Delivery

_log = get("recovery")


def receive(app: App, delivery: Delivery) -> None:
    """Look at the slice that a ``SliceDue`` names, or at an orphan."""
    fields = read(delivery.message.data)
    if delivery.message.attributes.get("kind") == MessageKind.ORPHAN_FOUND:
        delete_orphan(app, name_in(fields, "zone"), name_in(fields, "name"))
        return
    name = name_in(fields, "slice")
    settle(app, name, who=RECOVERY, change=_look(app, name))


def _look(app: App, name: str) -> Mark | None:
    """Ask the cloud about a bid whose hosts all speak: the next tick would only say it later."""
    loaded = load(app, name)
    current = loaded.situation.slice.current if loaded else None
    if loaded is None or current is None or current.claimed:
        return None
    for bid in current.bids:
        hosts = loaded.situation.hosts_of(current, bid.id)
        if bid.verdict is not View.PENDING or bid.is_condemned or len(hosts) < bid.hosts:
            continue
        try:
            request = app.slices.get(bid.zone, bid.name)
        except Retryable as error:
            _log.info("%s was not seen: %s", bid.name, error)
            return None
        return observation({bid.name: request}, loaded.situation.now)
    return None
