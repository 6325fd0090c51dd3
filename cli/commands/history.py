"""`tpuctl history`: what was done, and by whom."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.completion import job_names
from cli.installation import Installation, here
from cli.jobs import find_job
from cli.seen import Seen, read_seen
from cli.times import moment
from cli.words import AS_JSON

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.history import Deed, History

HEADINGS: Final = ("WHEN", "WHO", "JOB")
# How far the first look goes back.
FIRST: Final = timedelta(days=1)
MARGIN: Final = timedelta(seconds=3)


def history(
    *,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Since: 10m, 2d, 14:30 or a date; else the last look."),
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(
            metavar="JOB", help="Only of this job, from its beginning.", autocompletion=job_names
        ),
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only what you ordered yourself.")] = False,
    as_json: AS_JSON = False,
) -> None:
    """Say what was done to your jobs, and by whom.

    Without options: everything since you last looked. What tpuctl did by itself stands beside
    what people ordered, refused orders too.
    """
    installation = here()
    seen = read_seen(installation.settings, installation.owner)
    now = datetime.now(UTC)
    begin = _begin(since, seen, now, is_of_one=job is not None)
    found = _read(installation, begin, job)
    me = _names(installation) if mine else set()
    deeds = [deed for deed in found.deeds if not mine or deed.who in me]
    if as_json:
        print_json({"since": begin, "history": [asdict(deed) for deed in deeds]})
    else:
        _print(deeds, begin, now)
    if since is None and job is None and not mine:
        # What was being written while this was read is told next time, and perhaps twice.
        seen.looked((found.read_at or now) - MARGIN).save()


def _begin(since: str | None, seen: Seen, now: datetime, *, is_of_one: bool) -> datetime:
    if since is not None:
        return moment("--since", since, now)
    if is_of_one:
        return datetime.fromtimestamp(0, UTC)
    return seen.looked_at or now - FIRST


def _read(installation: Installation, since: datetime, job: str | None) -> History:
    from cli.history import read_history

    row = None if job is None else find_job(installation, job)
    return read_history(installation.store, installation.owner, since, row)


def _names(installation: Installation) -> set[str]:
    """Return what one's own orders are signed with."""
    return {installation.owner, installation.member}


def _print(deeds: Sequence[Deed], since: datetime, now: datetime) -> None:
    if not deeds:
        when = f"{_when(since, now)} ({tables.age(since, now)} ago)"
        typer.echo(f"nothing since {when}\nnext: tpuctl history --since 1d")
        return
    rows = [HEADINGS, *((_when(deed.at, now), deed.who, deed.about) for deed in deeds)]
    cells = tables.width()
    heads = tables.table(rows, columns=cells // 2)
    indent = max(map(tables.cells, heads)) + len(tables.GAP)
    for head, text in zip(heads, ["WHAT", *(deed.text for deed in deeds)], strict=True):
        line = head + " " * (indent - tables.cells(head)) + text
        for part in tables.wrapped(line, columns=cells, indent=indent):
            typer.echo(part)


def _when(at: datetime, now: datetime) -> str:
    """Write a moment in the reader's time, with its year if that is another one."""
    local = at.astimezone()
    is_ours = local.year == now.astimezone().year
    return tables.clock(at, now) if is_ours else local.strftime("%d %b %Y %H:%M:%S")
