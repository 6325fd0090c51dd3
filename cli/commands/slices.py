"""`tpuctl slice`: the TPU slices there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.commands import slice_orders
from cli.installation import READERS, Installation, for_orders, here
from cli.jobs import warn_without_runner
from cli.orders import give, new_order
from cli.slices import find_slice, live_slices, name_of, newest_bid
from cli.words import AS_JSON, COMMAND_ID, SLICE
from shared.core.orders import OrderKind
from shared.ports import Document

HEADINGS: Final = (
    "SLICE", "KIND", "TYPE", "TIER", "HOSTS", "GEN", "ZONE", "STATE", "JOB", "AGE", "",
)  # fmt: skip
RIGHT: Final = frozenset({"HOSTS", "GEN", "AGE"})
# What goes first where the terminal is too narrow.
DISPENSABLE: Final = ("KIND", "GEN", "HOSTS", "TIER", "TYPE", "ZONE")

app = typer.Typer(no_args_is_help=True, help="TPU slices of your own, and what there is.")


@app.command("ls")
def list_slices(
    *,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also TPUs that nobody here made or adopted.")
    ] = False,
    zone: slice_orders.ZONE = None,
    as_json: AS_JSON = False,
) -> None:
    """List the slices that exist, or are asked for."""
    installation = here()
    zones = [each for text in zone or () for each in text.split(",") if each]
    live = live_slices(installation)
    found = _in_zones(live, zones)
    others = _unmanaged(installation, live, zones) if everything else []
    if as_json:
        more = {"unmanaged": others} if everything else {}
        print_json({"slices": [dict(document.fields) for document in found], **more})
        return
    if not found:
        typer.echo("no slices\nnext: tpuctl run --help, tpuctl slice create --help")
    else:
        numbers = _job_numbers(installation, found)
        for line in _table([_row(document, numbers) for document in found]):
            typer.echo(line)
        warn_without_runner(installation)
    if everything:
        from cli.slice_text import unmanaged_text

        for line in unmanaged_text(others, tables.width()):
            typer.echo(line)


@app.command("show")
def show(name: SLICE, *, as_json: AS_JSON = False) -> None:
    """Show a slice: what it is, where, its hosts, what happened to it."""
    from cli.slice_text import text_of
    from cli.slice_view import read_view

    installation = here()
    view = read_view(installation.store, find_slice(installation, name))
    if as_json:
        print_json(view.stored)
        return
    for line in text_of(view, tables.width()):
        typer.echo(line)
    if view.slice.live:
        warn_without_runner(installation)


@app.command("rm")
def release(name: SLICE, *, command_id: COMMAND_ID = None) -> None:
    """Give a slice back that no job uses; what others made stays, unless it is disposable."""
    installation = for_orders()
    found = name_of(installation, name)
    give(installation, new_order(OrderKind.RELEASE, command_id), {"slice": found})
    typer.echo(f"slice {found} is being given back\nnext: tpuctl slice ls")


app.command("create")(slice_orders.create)
app.command("recreate")(slice_orders.recreate)
app.command("restart")(slice_orders.restart)
app.command("adopt")(slice_orders.adopt)
app.command("installer")(slice_orders.installer)


def _in_zones(found: list[Document], zones: list[str]) -> list[Document]:
    """Choose the slices that are, or may be, in some zones; without zones all."""
    if not zones:
        return found
    from cli.sweeping import check_zones

    check_zones(zones)
    return [each for each in found if not set(zones).isdisjoint(_zones_of(each.fields))]


def _zones_of(fields: Mapping[str, Any]) -> list[str]:
    zone = newest_bid(fields).get("zone")
    return [str(zone)] if zone else list(fields["zones"])


def _unmanaged(
    installation: Installation, live: list[Document], zones: list[str]
) -> list[dict[str, Any]]:
    from cli.unmanaged import read_unmanaged

    return read_unmanaged(installation, live, zones)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Leave columns out until the rest fits; what happens is cut, or not told at all."""
    columns = tables.width()
    whole = [HEADINGS, *rows]
    kept = tables.fitting([row[:-1] for row in whole], DISPENSABLE, columns=columns)
    right = frozenset(place for place, index in enumerate(kept) if HEADINGS[index] in RIGHT)
    cells = [[row[index] for index in kept] for row in whole]
    lines = tables.table(cells, columns=columns, right=right, elastic=0)
    wide = max(map(tables.cells, lines)) + len(tables.GAP)
    if columns - wide < tables.ELASTIC_MIN:
        return lines
    return [
        tables.cut(f"{line}{' ' * (wide - tables.cells(line))}{row[-1]}".rstrip(), columns)
        for line, row in zip(lines, whole, strict=True)
    ]


def _row(document: Document, numbers: Mapping[str, str]) -> tuple[str, ...]:
    fields: Mapping[str, Any] = document.fields
    bid = newest_bid(fields)
    return (
        str(fields["name"]),
        str(fields["kind"]),
        str(fields["accelerator_type"]),
        str(fields["tier"]),
        str(fields["hosts"]),
        str(fields["generation"]),
        str(bid.get("zone") or "-"),
        str(bid.get("state") or bid.get("stage") or "-").lower(),
        numbers.get(fields["job"], "-"),
        tables.age(fields["created_at"], document.read_at),
        tables.printable(str(fields.get("summary") or fields.get("reason") or "")),
    )


def _job_numbers(installation: Installation, found: list[Document]) -> Mapping[str, str]:
    """Return the numbers of the jobs that slices work for, by their ids; read side by side."""
    from concurrent.futures import ThreadPoolExecutor

    paths = {f"jobs/{each.fields['job']}" for each in found if each.fields["job"]}
    with ThreadPoolExecutor(READERS) as readers:
        jobs = readers.map(installation.store.get, paths)
        return {str(job.fields["id"]): str(job.fields["number"]) for job in jobs if job}
