"""`tpuctl slice`: the TPU slices there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.installation import Installation, for_orders, here
from cli.orders import give, new_order
from cli.slices import find_slice, live_slices, newest_bid
from cli.words import AS_JSON, COMMAND_ID
from shared.core.orders import OrderKind
from shared.ports import Document

HEADINGS: Final = ("SLICE", "TYPE", "TIER", "HOSTS", "GEN", "ZONE", "STATE", "JOB", "AGE", "")
RIGHT: Final = frozenset({3, 4, 8})

app = typer.Typer(no_args_is_help=True, help="List and release TPU slices.")


@app.command("ls")
def list_slices(*, as_json: AS_JSON = False) -> None:
    """List the slices that exist, or are asked for."""
    installation = here()
    found = live_slices(installation)
    if as_json:
        print_json({"slices": [dict(document.fields) for document in found]})
    elif not found:
        typer.echo("no slices\nnext: tpuctl run --help")
    else:
        rows = [HEADINGS, *(_row(installation, document) for document in found)]
        for line in tables.table(rows, columns=tables.width(), right=RIGHT):
            typer.echo(line)


@app.command("rm")
def release(
    name: Annotated[str, typer.Argument(metavar="SLICE", help="As `tpuctl slice ls` names it.")],
    *,
    command_id: COMMAND_ID = None,
) -> None:
    """Give a slice back that no job uses."""
    installation = for_orders()
    find_slice(installation, name)
    give(installation, new_order(OrderKind.RELEASE, command_id), {"slice": name})
    typer.echo(f"slice {name} is being given back\nnext: tpuctl slice ls")


def _row(installation: Installation, document: Document) -> tuple[str, ...]:
    fields: Mapping[str, Any] = document.fields
    bid = newest_bid(fields)
    return (
        str(fields["name"]),
        str(fields["accelerator_type"]),
        str(fields["tier"]),
        str(fields["hosts"]),
        str(fields["generation"]),
        str(bid.get("zone") or "-"),
        str(bid.get("state") or bid.get("stage") or "-").lower(),
        _job_number(installation, str(fields["job"])),
        tables.age(fields["created_at"], document.read_at),
        tables.printable(str(fields.get("summary") or fields.get("reason") or "")),
    )


def _job_number(installation: Installation, job_id: str) -> str:
    document = installation.store.get(f"jobs/{job_id}") if job_id else None
    return str(document.fields["number"]) if document else "-"
