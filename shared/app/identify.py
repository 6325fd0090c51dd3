"""Who gives an order, and whether they may: the identity token is read here and nowhere else.

Where the wiring believes the user of the machine there is no ``app.identity``: the owner that
the order names is the owner, and may do everything, as whoever can write the state file may.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from shared.app.context import App
from shared.app.order_args import Order
from shared.app.stored import written
from shared.core.identity import NOBODY, Bounds, Person, owner_names
from shared.core.ordering import Refused
from shared.errors import NotAuthorized
from shared.ports import Fields, Store, Write


@dataclass(frozen=True, slots=True)
class Submitter:
    """Whoever gives an order; ``person`` is nobody where the machine's user is believed."""

    owner: str
    person: Person = NOBODY

    @property
    def member(self) -> str:
        """What lists of teams name them by."""
        return self.person.email or self.owner


def owner_path(owner: str) -> str:
    """Name the document of an owner."""
    return f"owners/{owner}"


def unproved(app: App, order: Order) -> Submitter:
    """Say who gives an order as far as that needs no token: nobody, where it does."""
    return Submitter(order.owner if app.identity is None else "")


def signed(app: App, order: Order, published_at: datetime) -> tuple[Order, Submitter]:
    """Say who gives an order; the order comes back in their name, without its token.

    Raises Refused, and Unavailable when Google's keys cannot be had.
    """
    who = unproved(app, order)
    if app.identity is not None:
        person = _person(app, order, published_at)
        who = Submitter(owner_name(app.store, person), person)
    return order.model_copy(update={"owner": who.owner, "id_token": None}), who


def owner_name(store: Store, person: Person) -> str:
    """Find the name of a person: no two subjects share one.  Raises Refused."""
    for name in owner_names(person):
        if _holder(store, name).subject in {"", person.subject}:
            return name
    raise Refused(f"the owner names of {person.email} are held by other accounts")


def bounds_of(app: App, member: str) -> Bounds:
    """Say what somebody's jobs are kept in: the settings do, never a spec."""
    return app.people.bounds_of(member)


def next_number(app: App, who: Submitter) -> tuple[int, Write]:
    """Count an owner's jobs and keep who it is, in the same commit."""
    document = app.store.get(owner_path(who.owner))
    newest = document.fields["number"] if document else 0
    assert isinstance(newest, int), "an owner's document counts jobs"
    counted = f"{newest + 1} job{'' if newest == 0 else 's'} of {who.owner} so far"
    fields: Fields = {
        "summary": counted,
        "owner": who.owner,
        "number": newest + 1,
        "email": who.person.email,
        "subject": who.person.subject,
    }
    return newest + 1, written(owner_path(who.owner), fields, document)


def check_holder(app: App, who: Submitter, owner: str, what: str) -> None:
    """Let owners, their team and admins act on ``what`` an owner has.  Raises Refused.

    What came from a wiring without identities belongs to nobody in particular.
    """
    if app.identity is None or who.owner == owner:
        return
    holder = _holder(app.store, owner)
    if holder.is_known and not app.people.may_act(who.person, holder):
        raise Refused(
            f"{what} belongs to {holder.email}: only its owner, members of their team and"
            f" admins may do this, not {who.person.email}"
        )


def check_admin(app: App, who: Submitter, what: str) -> None:
    """Let admins only.  Raises Refused."""
    if app.identity is not None and not app.people.is_admin(who.person):
        raise Refused(f"only an admin may {what} (cloud.admins), not {who.person.email}")


def _person(app: App, order: Order, published_at: datetime) -> Person:
    assert app.identity is not None, "this wiring asks who gives an order"
    token = order.id_token.get_secret_value() if order.id_token else ""
    if not token:
        raise Refused("the identity token is missing: this installation asks who gives an order")
    try:
        person = app.identity.person(token, published_at)
    except NotAuthorized as error:
        raise Refused(str(error)) from None
    if person.email in app.people.accounts:
        raise Refused(f"{person.email} is a worker account: what runs on slices gives no orders")
    return person


def _holder(store: Store, owner: str) -> Person:
    """Read who an owner is; nobody for one that came without an identity, or is not there."""
    document = store.get(owner_path(owner))
    if document is None:
        return NOBODY
    fields = document.fields
    return Person(str(fields.get("subject", "")), str(fields.get("email", "")))
