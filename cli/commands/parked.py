"""`tpuctl parked`: messages that were put aside because nobody could handle them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.errors import USAGE, CliError
from cli.installation import Installation, for_orders, here, say_aside
from cli.orders import give, new_order
from cli.parked import (
    LIST,
    LOOKED_AT_MAX,
    SHORT_CHARS,
    find,
    is_readable,
    key_of,
    newest,
    readable,
)
from cli.words import AS_JSON, COMMAND_ID
from shared.core.orders import OrderKind
from shared.core.parking import Way, advise
from shared.ports import Document
from shared.topology import DEAD_LETTER_ATTEMPTS

HEADINGS: Final = ("KEY", "AGE", "SOURCE", "RETRIED", "REASON")
RIGHT: Final = frozenset({1})
ROWS_MAX: Final = 100
_INDENT: Final = 12
KEY = Annotated[
    str, typer.Argument(metavar="KEY", help="As `tpuctl parked ls` shows it, or more of it.")
]

KEYS = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY]...", help="As `tpuctl parked ls` shows them.")
]

app = typer.Typer(no_args_is_help=True, help="Messages that nobody could handle.")


@app.command("ls")
def list_parked(*, as_json: AS_JSON = False) -> None:
    """List messages that were put aside, newest first."""
    found = newest(here(), ROWS_MAX + 1)
    if as_json:
        print_json({"parked": [_as_fields(document) for document in found[:ROWS_MAX]]})
    elif not found:
        typer.echo("nothing is parked\nnext: tpuctl ps")
    else:
        rows = [HEADINGS, *(_row(document) for document in found[:ROWS_MAX])]
        for line in tables.table(rows, columns=tables.width(), right=RIGHT):
            typer.echo(line)
    if len(found) > ROWS_MAX:
        say_aside(f"these are the newest {ROWS_MAX}; docs/operate.md says how to read all")


@app.command("show")
def show(key: KEY, *, as_json: AS_JSON = False) -> None:
    """Show a message that was put aside, and what can be done about it."""
    document = find(here(), key)
    if as_json:
        print_json(_as_fields(document))
        return
    columns = tables.width()
    for line in _lines(document):
        typer.echo("\n".join(tables.wrapped(line, columns=columns, indent=_INDENT)))
    for line in readable(str(document.fields["data"])):
        typer.echo(f"  {line}")
    typer.echo(f"next: {_next_step(document)}")


@app.command("retry")
def retry(
    keys: KEYS = None,
    *,
    every: Annotated[
        bool, typer.Option("--all", help="All that can be sent again and was not yet.")
    ] = False,
    command_id: COMMAND_ID = None,
) -> None:
    """Hand messages over again; an order only in the name of whoever gave it."""
    if bool(keys) == every:
        raise CliError("name one KEY or more, or say --all", next_step=LIST, code=USAGE)
    installation = for_orders()
    if every:
        found = [each for each in newest(installation, LOOKED_AT_MAX) if _is_left(each)]
    else:
        found = [find(installation, key) for key in keys or ()]
    if len(found) == 1:
        typer.echo("\n".join(_hand_over(installation, found[0], command_id)))
    elif command_id is not None:
        raise CliError("--command-id names one order: give one KEY", next_step=LIST, code=USAGE)
    else:
        _hand_all_over(installation, found)


def _is_left(document: Document) -> bool:
    way = advise(str(document.fields["source"])).way
    is_new = not document.fields.get("retried_at")
    return way is not Way.NONE and is_new and is_readable(document, way)


def _hand_over(
    installation: Installation, document: Document, command_id: str | None = None
) -> tuple[str, str]:
    """Send one again; say what came of it, and the next step.  Raises CliError."""
    source, short = str(document.fields["source"]), key_of(document)[:SHORT_CHARS]
    advice = advise(source)
    if advice.way is Way.NONE:
        raise CliError(
            f"a message of {source} cannot be sent again: {advice.text}",
            next_step="nothing is to do",
        )
    order = new_order(OrderKind.PARKED_RETRY, command_id)
    done = give(installation, order, {"key": key_of(document)})
    if advice.way is Way.EVENT:
        return f"{short} is on its way to {advice.topic} again", f"next: {LIST}"
    about = f" for job {done.number}" if done.number else ""
    step = f"tpuctl show {done.number}" if done.number else "tpuctl ps"
    return f"{short}: the order{about} was given again and accepted", f"next: {step}"


def _hand_all_over(installation: Installation, found: Sequence[Document]) -> None:
    """Send several again; one that is refused keeps none of the others back."""
    refused = 0
    for document in found:
        try:
            typer.echo(_hand_over(installation, document)[0])
        except CliError as error:
            refused += 1
            say_aside(f"{key_of(document)[:SHORT_CHARS]}: {error}")
    if refused:
        raise CliError(f"{refused} of {len(found)} were not handed over", next_step=LIST)
    typer.echo(f"next: {LIST}" if found else f"nothing is left to hand over\nnext: {LIST}")


def _as_fields(document: Document) -> dict[str, Any]:
    return {"key": key_of(document), **document.fields}


def _row(document: Document) -> tuple[str, ...]:
    fields: Mapping[str, Any] = document.fields
    again = fields.get("retried_at")
    return (
        key_of(document)[:SHORT_CHARS],
        tables.age(fields["created_at"], document.read_at),
        tables.printable(str(fields["source"])),
        tables.age(again, document.read_at) if isinstance(again, datetime) else "",
        tables.printable(str(fields["reason"])),
    )


def _lines(document: Document) -> Iterator[str]:
    """Say all but what the message itself said."""
    fields: Mapping[str, Any] = document.fields
    now = document.read_at
    at, published_at = fields["created_at"], fields["published_at"]
    attributes: Mapping[str, Any] = fields["attributes"]
    times = int(attributes.get(DEAD_LETTER_ATTEMPTS) or fields["attempts"])
    yield f"parked {key_of(document)}"
    yield _line("reason", str(fields["reason"]))
    yield _line("source", str(fields["source"]))
    yield _line("parked", f"{tables.clock(at, now)}, {tables.age(at, now)} ago")
    yield _line(
        "published", f"{tables.clock(published_at, now)}, delivered {_count(times, 'time')}"
    )
    for name, value in sorted(attributes.items()):
        yield _line("attribute", f"{name}={value}")
    if fields.get("retried_at"):
        when = tables.clock(fields["retried_at"], now)
        yield _line("retried", f"{when} by {fields['retried_by']}")
    yield _line("said", "")


def _line(name: str, text: str) -> str:
    return f"  {name:<10}{tables.printable(text)}".rstrip()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _next_step(document: Document) -> str:
    """Say what can be done, in one line."""
    advice = advise(str(document.fields["source"]))
    if advice.way is Way.NONE:
        return f"nothing is to do: {advice.text}"
    if not is_readable(document, advice.way):
        return "nothing is to do: nobody can read it; whoever gave it gives a new order"
    return f"tpuctl parked retry {key_of(document)[:SHORT_CHARS]}: {advice.text}"
