"""recovery: make capacity match the wish. Owns the creation and deletion of bids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from shared.app.commit import RECOVERY
from shared.app.context import App
from shared.app.messages import MessageKind, name_in, read
from shared.app.observing import Look, look_at, observation
from shared.app.orphans import delete_orphan
from shared.app.perform import Mark
from shared.app.settle import settle
from shared.core.situation import Situation
from shared.core.slices import Bid, BidStage, Generation, View
from shared.errors import Permanent, Retryable
from shared.log import get
from shared.ports import Delivery

_Wanted: TypeAlias = Callable[[Situation, Generation], Sequence[Bid]]
_log = get("recovery")


def receive(app: App, delivery: Delivery) -> None:
    """Look at the slice that a ``SliceDue`` names, or at an orphan."""
    fields = read(delivery.message.data)
    if delivery.message.attributes.get("kind") == MessageKind.ORPHAN_FOUND:
        _delete_orphan(app, name_in(fields, "zone"), name_in(fields, "name"))
        return
    name = name_in(fields, "slice")
    wanted = _asked_for if fields.get("look") is True else _waiting
    settle(app, name, who=RECOVERY, change=_look(app, wanted))


def _delete_orphan(app: App, zone: str, name: str) -> None:
    """Delete an orphan; one that the cloud refuses to show or to delete is told by each sweep."""
    try:
        delete_orphan(app, zone, name)
    except Permanent as error:
        _log.error("the orphan %s in %s is not deleted: %s", name, zone, error)


def _look(app: App, wanted: _Wanted) -> Mark:
    """Ask the cloud about some bids, once each: the next tick would only say it later."""
    looks: dict[str, Look] = {}
    begun: list[datetime] = []

    def mark(now: Situation) -> Situation:
        current = now.slice.current
        if current is None:
            return now
        begun.append(now.now)
        for bid in wanted(now, current):
            if bid.name not in looks:
                looks.update(_ask(app, bid))
        return observation(looks, begun[0])(now)

    return mark


def _ask(app: App, bid: Bid) -> Mapping[str, Look]:
    app.deadline.check()
    try:
        return {bid.name: look_at(app.slices, bid)}
    except (Retryable, Permanent) as error:
        _log.info("%s was not seen: %s", bid.name, error)
        return {}


def _waiting(now: Situation, current: Generation) -> list[Bid]:
    """Bids whose hosts all speak, and that nobody saw ready."""
    return [
        bid
        for bid in current.bids
        if not current.claimed
        and bid.verdict is View.PENDING
        and not bid.is_condemned
        and len(now.hosts_of(current, bid.id)) >= bid.hosts
    ]


def _asked_for(_: Situation, current: Generation) -> list[Bid]:
    """Bids of which something may be in the cloud; one that nobody asked for is not missing."""
    return [
        bid
        for bid in current.bids
        if bid.gone_at is None and (bid.stage is not BidStage.INTENDED or bid.is_condemned)
    ]
