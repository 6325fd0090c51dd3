"""`tpuctl grant`: what the project may use without paying."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.errors import NotFoundError
from cli.installation import Installation, for_orders, here, say_aside
from cli.near import near_names
from cli.orders import give, new_order
from cli.words import AS_JSON, COMMAND_ID
from shared.core.orders import OrderKind
from shared.errors import SpecError

if TYPE_CHECKING:
    from shared.core.grant_form import GrantForm
    from shared.core.grants import Grant, Terms

HEADINGS: Final = ("GRANT", "USED", "CHIPS", "TYPES", "TIERS", "ZONES", "UNTIL", "NOTE")
RIGHT: Final = frozenset({1, 2})
NAME = Annotated[str, typer.Argument(metavar="NAME", help="As `tpuctl grant ls` names it.")]

app = typer.Typer(no_args_is_help=True, help="What may be used without paying.")


@app.command("add")
def add(  # noqa: PLR0913 - one parameter a flag
    name: Annotated[str, typer.Argument(metavar="NAME", help="How to call it.")],
    *,
    zone: Annotated[list[str], typer.Option(help="Where; may be repeated.")],
    accelerator: Annotated[
        list[str],
        typer.Option("--type", "-t", metavar="TYPE", help="v4, or v4-16 alone; may be repeated."),
    ],
    tier: Annotated[
        list[str],
        typer.Option(metavar="TIER", help="spot, on-demand or reserved; may be repeated."),
    ],
    chips: Annotated[int, typer.Option(help="How many chips at once.")],
    until: Annotated[str, typer.Option(metavar="DAY", help="The last day: 2027-01-31, in UTC.")],
    note: Annotated[str, typer.Option(help="A text for people.")] = "",
    command_id: COMMAND_ID = None,
) -> None:
    """Keep a grant: from then on, what lies outside of all grants needs --i-pay."""
    from shared.core.grant_form import GrantForm

    form = GrantForm(name, tuple(zone), tuple(accelerator), tuple(tier), chips, until, note)
    grant, is_offered = _checked(form)
    args = {
        "name": grant.id,
        "zones": grant.zones,
        "types": grant.accelerators,
        "tiers": grant.tiers,
        "chips": grant.chips,
        "until": until,
        "note": note,
    }
    give(for_orders(), new_order(OrderKind.GRANT_ADD, command_id), args)
    if not is_offered:
        say_aside(f"as far as is known there is no {' or '.join(grant.accelerators)} there")
    typer.echo(f"grant {grant.id}: {grant.terms}\nnext: tpuctl grant ls")


@app.command("ls")
def list_grants(*, as_json: AS_JSON = False) -> None:
    """List what may be used without paying, and how much of it is used."""
    terms = _terms(here())
    used = _used(terms)
    if as_json:
        print_json({"grants": [_as_fields(grant, terms, used) for grant in terms.grants]})
    elif not terms.grants:
        typer.echo("no grants: nothing is checked against them\nnext: tpuctl grant add --help")
    else:
        rows = [HEADINGS, *(_row(grant, terms, used) for grant in terms.grants)]
        for line in tables.table(rows, columns=tables.width(), right=RIGHT):
            typer.echo(line)


@app.command("rm")
def remove(name: NAME, *, command_id: COMMAND_ID = None) -> None:
    """Forget a grant; without any left nothing is checked any more."""
    installation = for_orders()
    known = [grant.id for grant in _terms(installation).grants]
    if command_id is None and name not in known:
        near = near_names(name, known)
        hint = f"; near: {', '.join(near)}" if near else ""
        raise NotFoundError(f"there is no grant {name!r}{hint}", next_step="tpuctl grant ls")
    give(installation, new_order(OrderKind.GRANT_REMOVE, command_id), {"name": name})
    is_last = known in ([], [name])
    left = "none is left, so nothing is checked any more" if is_last else "what runs goes on"
    typer.echo(f"grant {name} is removed; {left}\nnext: tpuctl grant ls")


def _checked(form: GrantForm) -> tuple[Grant, bool]:
    """Check a grant before anybody is asked; name the flag that is wrong."""
    from shared.catalog_data import load_catalog
    from shared.core.grant_form import make_grant, offers

    catalog = load_catalog()
    try:
        grant = make_grant(form, catalog, "", datetime.now(UTC))
    except SpecError as error:
        flag = "NAME" if error.field == "name" else f"--{error.field}"
        raise SpecError(flag, error.reason) from None
    return grant, offers(grant, catalog)


def _terms(installation: Installation) -> Terms:
    # Codecs and the catalog take a while, and only this command needs them.
    from shared.app.grants import read_terms
    from shared.catalog_data import load_catalog

    return read_terms(installation.store, load_catalog(), datetime.now(UTC))


def _used(terms: Terms) -> dict[str, int]:
    from shared.core.grants import chips_of, users_of

    return {name: chips_of(uses) for name, uses in users_of(terms).items()}


def _as_fields(grant: Grant, terms: Terms, used: dict[str, int]) -> dict[str, Any]:
    from shared.core.codec import to_fields

    counts = {"chips_used": used.get(grant.id, 0), "has_ended": grant.ends_at <= terms.now}
    return {**to_fields(grant), **counts}


def _row(grant: Grant, terms: Terms, used: dict[str, int]) -> tuple[str, ...]:
    has_ended = grant.ends_at <= terms.now
    return (
        grant.id,
        "-" if has_ended else str(used[grant.id]),
        str(grant.chips),
        " ".join(grant.accelerators),
        " ".join(grant.tiers),
        " ".join(grant.zones),
        f"ended {grant.last_day}" if has_ended else grant.last_day,
        tables.printable(grant.note),
    )
