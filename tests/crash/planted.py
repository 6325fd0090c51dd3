"""Mistakes that the enumeration must find: what a use case would look like that makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from shared.app import health_check, orders, park, recovery, settle
from shared.app.commit import _Outbox
from shared.app.context import App
from shared.app.observing import Look
from shared.core.situation import Situation
from shared.core.slices import Bid
from shared.errors import ControlPlaneError
from shared.ports import Create, Delivery, Message, Write
from shared.topology import Topic


@dataclass(frozen=True, slots=True)
class Mistake:
    """What stands in the place of something, and in which use case that must be found."""

    where: Any
    name: str
    instead: Any
    use_case: str


def _absent_on_error(app: App, bid: Bid) -> Mapping[str, Look]:
    try:
        return {bid.name: app.slices.get(bid.zone, bid.name)}
    except ControlPlaneError:
        return {bid.name: None}


def _outcome_first(
    app: App, loaded: Any, *, who: str, change: Any = None, beside: Sequence[Write] = ()
) -> Situation:
    app.store.commit(list(beside))
    return settle.settle_once(app, loaded, who=who, change=change)


def _not_kept(outbox: _Outbox, topic: Topic, event: Message) -> None:
    outbox.events.append((f"outbox/{outbox.prefix}-{len(outbox.events)}", topic, event))


def _parked_by_number(app: App, delivery: Delivery, source: str, reason: str) -> None:
    number = f"{delivery.attempt}"
    text = delivery.message.data.decode()
    app.store.commit([Create(f"parked/{number}", {"source": source, "data": text, "why": reason})])


def _nothing(*_: object) -> None:
    pass


MISTAKES: Final = {
    "an error is an absence": Mistake(
        recovery, "_ask", _absent_on_error, "recovery: look at what is there"
    ),
    "the outcome is written first": Mistake(
        orders, "settle_once", _outcome_first, "launch-commands: stop"
    ),
    "events are published and not kept": Mistake(
        _Outbox, "add", _not_kept, "report-audit: preempted"
    ),
    "nobody publishes what was kept": Mistake(
        health_check, "_relay", _nothing, "launch-commands: kill"
    ),
    "nobody is woken when it is due": Mistake(health_check, "_due", _nothing, "recovery: create"),
    "poison is parked each time it comes": Mistake(
        park, "record", _parked_by_number, "report: poison"
    ),
}
