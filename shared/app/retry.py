"""Hand over again what was parked: a user's order as its giver's, an event on its topic.

Secrets were removed when it was parked. An order is therefore carried out in the name of whoever
asks for it now, and only if that is whoever gave it; an event carries nothing that needs proof.
"""

from __future__ import annotations

from collections.abc import Mapping

from shared.app.context import App
from shared.app.identify import Submitter, check_admin
from shared.app.order_args import Order, ParkedRetry, parse_order
from shared.app.park import parked_path
from shared.app.relay import Event
from shared.core.ordering import Refused
from shared.core.orders import Verdict
from shared.core.parking import Advice, Way, advise
from shared.errors import InvalidRequest
from shared.ports import Document, Message, Replace, Store, Write
from shared.topology import DEAD_LETTER_PREFIX, DEAD_LETTER_TOPIC, Topic

# The attribute of a message that was parked before: the beginning of that document's key. All of
# it would look like a secret to whoever removes those.
RETRY_OF = "retry_of"
KEY_CHARS_SAID = 16


def taken_up(app: App, order: Order, who: Submitter) -> tuple[Order, tuple[Write, ...]]:
    """Put a parked order in the place of the wish to retry it, with what to write beside it.

    Every other order stays what it is.  Raises Refused.
    """
    if not isinstance(order, ParkedRetry):
        return order, ()
    document, advice = _parked(app, order)
    if advice.way is not Way.ORDER:
        return order, ()
    found = _parked_order(document)
    if found.owner != who.owner:
        raise Refused(f"it is an order of {found.owner}: nobody else can give it again")
    for earlier in (found.id, str(document.fields.get("retried_as", ""))):
        _check_undone(app.store, earlier)
    again = found.model_copy(update={"id": order.id, "id_token": None})
    return again, (_marked(document, order, who),)


def sent_again(app: App, order: ParkedRetry, who: Submitter) -> tuple[Write, Event]:
    """Say how an internal event goes to its topic once more.  Raises Refused."""
    document, advice = _parked(app, order)
    if advice.way is not Way.EVENT:
        raise Refused(f"it cannot be sent again: {advice.text}")
    check_admin(app, who, "send parked messages again")
    told = _message(document, order.args.key)
    return _marked(document, order, who), (f"outbox/retry-{order.id}", Topic(advice.topic), told)


def _parked(app: App, order: ParkedRetry) -> tuple[Document, Advice]:
    document = app.store.get(parked_path(order.args.key))
    if document is None:
        raise Refused(f"nothing is parked under {order.args.key}")
    return document, advise(str(document.fields["source"]))


def _parked_order(document: Document) -> Order:
    try:
        found = parse_order(str(document.fields["data"]).encode())
    except InvalidRequest as error:
        raise Refused(f"nobody could read it, then or now: {error}") from None
    if isinstance(found, ParkedRetry):
        raise Refused(f"it asked to retry {found.args.key}: retry that one")
    return found


def _check_undone(store: Store, order_id: str) -> None:
    """Refuse to carry out twice what was carried out after all."""
    outcome = store.get(f"commands/{order_id}") if order_id else None
    if outcome is not None and outcome.fields["outcome"] == Verdict.ACCEPTED:
        number = outcome.fields["number"]
        about = f", for job {number}" if number else ""
        raise Refused(f"it was carried out already{about}")


def _marked(document: Document, order: ParkedRetry, who: Submitter) -> Replace:
    """Say in the parked document when it was handed over again, and by whom."""
    fields = {
        **document.fields,
        "retried_at": document.read_at,
        "retried_by": who.member,
        "retried_as": order.id,
    }
    return Replace(document.path, fields, document.token)


def _message(document: Document, key: str) -> Message:
    """Write an event as it was, without what the bus added to it."""
    attributes = document.fields["attributes"]
    assert isinstance(attributes, Mapping), "park writes attributes"
    kept = {
        name: str(value)
        for name, value in attributes.items()
        if not name.startswith((DEAD_LETTER_PREFIX, DEAD_LETTER_TOPIC))
    }
    return Message(str(document.fields["data"]).encode(), {**kept, RETRY_OF: key[:KEY_CHARS_SAID]})
