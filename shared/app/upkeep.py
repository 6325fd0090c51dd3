"""launch, woken by users: orders that are about no slice.

Each is one commit with its outcome; what it publishes stands in the outbox of that commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from shared.app import grants, pause, retry
from shared.app.context import App
from shared.app.identify import Submitter, check_admin
from shared.app.order_args import (
    GrantAdd,
    GrantRemove,
    ParkedRetry,
    Pause,
    Sweep,
    Unpause,
    UpkeepOrder,
)
from shared.app.outcomes import accepted
from shared.app.relay import Event, outbox_write, relay
from shared.app.zones import asked_for, known_zones
from shared.core.ordering import Refused
from shared.errors import ControlPlaneError
from shared.ports import Write


def carry_out(
    app: App, order: UpkeepOrder, who: Submitter, *, beside: Sequence[Write] = ()
) -> None:
    """Commit an order with its outcome, and with what goes ``beside``.  Raises Refused."""
    writes, events = _changes(app, order, who)
    kept = [outbox_write(event, app.clock.now()) for event in events]
    app.store.commit([*writes, *kept, *beside, accepted(app, order, who)])
    with suppress(ControlPlaneError):
        relay(app, events)  # or the next tick does it


def _changes(
    app: App, order: UpkeepOrder, who: Submitter
) -> tuple[Sequence[Write], Sequence[Event]]:
    """Say what an order writes and publishes.  Raises Refused."""
    match order:
        case GrantAdd() | GrantRemove():
            check_admin(app, who, "change grants")
            return [grants.change(app, order)], []
        case Pause():
            check_admin(app, who, "pause the installation")
            return [pause.pause(app.store, who.member, app.clock.now(), order.args.reason)], []
        case Unpause():
            check_admin(app, who, "let the installation go on")
            return [pause.unpause(app.store)], []
        case Sweep():
            return [_sweep(app, order)], []
        case ParkedRetry():
            mark, event = retry.sent_again(app, order, who)
            return [mark], [event]


def _sweep(app: App, order: Sweep) -> Write:
    """Make the tick list zones: what it deletes there it would delete anywhere."""
    known = {*app.catalog.zones, *known_zones(app.store)}
    strange = sorted(set(order.args.zones) - known)
    if strange:
        raise Refused(f"no zone with TPUs is called {', '.join(strange)}")
    return asked_for(app.store, order.args.zones, app.clock.now())
