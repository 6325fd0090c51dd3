"""`tpuctl selftest`: whether this installation answers, and whether what it assumes is true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.errors import FAILED, USAGE, CliError
from cli.installation import Installation, here, say_aside
from cli.times import seconds
from cli.words import AS_JSON
from shared.errors import SpecError

if TYPE_CHECKING:
    from cli.selftest.model import Result
    from cli.selftest.plan import Plan

LIMIT: Final = "45m"
HEADINGS: Final = ("ASSUMPTION", "EXPECTED", "VERDICT", "TIME", "COST", "FOUND")
RIGHT: Final = frozenset({3, 4})


def selftest(
    *,
    live: Annotated[
        bool, typer.Option("--live", help="Make one spot node, try everything on it, delete it.")
    ] = False,
    zone: Annotated[str, typer.Option(metavar="ZONE", help="Where, with --live.")] = "",
    accelerator_type: Annotated[
        str, typer.Option("--type", metavar="TYPE", help="Of one host; the cheapest there is.")
    ] = "",
    limit: Annotated[
        str, typer.Option(metavar="TIME", help="Delete it after: 45m, waiting included.")
    ] = LIMIT,
    yes: Annotated[bool, typer.Option("--yes", help="Spend what was said.")] = False,
    as_json: AS_JSON = False,
) -> None:
    """Check this installation; with --live what it assumes of Cloud TPU.

    Without --live nothing is made. With it, one spot node is asked for and always deleted, also
    after Ctrl-C; docs/live-checklist.md says what is tried. Exits with 1 where something does
    not hold.
    """
    if live:
        _live(zone, accelerator_type, limit, is_agreed=yes, as_json=as_json)
        return
    given = {"--zone": zone, "--type": accelerator_type, "--yes": yes}
    for flag in [flag for flag, value in given.items() if value]:
        raise typer.BadParameter(f"{flag} is for --live")
    _check(here(), as_json=as_json)


def _check(installation: Installation, *, as_json: bool) -> None:
    from cli.selftest.installation import checks

    found = list(checks(installation))
    bad = [each for each in found if each.fix]
    if as_json:
        rows = [{"name": each.name, "found": each.found, "fix": each.fix} for each in found]
        print_json({"checks": rows, "ok": not bad})
    else:
        shown = [(each.name, "no" if each.fix else "ok", each.found) for each in found]
        for line in tables.table(
            [(name, verdict, tables.printable(text)) for name, verdict, text in shown],
            columns=tables.width(),
        ):
            typer.echo(line)
        typer.echo(f"next: {bad[0].fix if bad else 'tpuctl selftest --live --zone ZONE'}")
    if bad:
        raise typer.Exit(FAILED)


def _live(zone: str, accelerator_type: str, limit: str, *, is_agreed: bool, as_json: bool) -> None:
    from cli.selftest import live
    from cli.selftest.installation import project_of

    installation = here()
    plan = _plan(installation, zone, accelerator_type, limit)
    say_aside(live.bound_text(plan, installation))
    if not is_agreed:
        raise CliError("nothing was asked for: say --yes", next_step=_again(plan), code=USAGE)
    live.check_before(installation, zone)
    rig, results = live.rig_for(installation, plan), list["Result"]()
    try:
        live.run(installation, rig, plan, results)
    finally:
        if as_json:
            is_deleted = not rig.may_exist
            project = project_of(installation)
            print_json(live.as_fields(rig, plan, project, results, is_deleted=is_deleted))
        elif results:
            _print(results, plan, rig.paid_s)
    if any(result.verdict == "does not" for result in results):
        raise typer.Exit(FAILED)


def _plan(installation: Installation, zone: str, accelerator_type: str, limit: str) -> Plan:
    from cli.selftest.plan import make_plan
    from cli.selftest.rig import QUICK, Pace
    from shared.catalog_data import load_catalog

    if not zone:
        raise typer.BadParameter("--live needs a --zone")
    limit_s = seconds("--limit", limit)
    if limit_s <= 0:
        raise typer.BadParameter("--limit: no time at all is too little")
    pace = replace(QUICK if installation.endpoint else Pace(), total_s=limit_s)
    try:
        return make_plan(load_catalog(), zone, accelerator_type, pace)
    except SpecError as error:
        raise typer.BadParameter(str(error)) from None


def _again(plan: Plan) -> str:
    words = f"tpuctl selftest --live --zone {plan.zone}"
    return f"{words} --type {plan.accelerator.accelerator_type} --yes"


def _print(results: Sequence[Result], plan: Plan, paid_s: float) -> None:
    from cli.selftest.model import seconds_text
    from cli.selftest.plan import usd_text

    rows = [
        (
            result.assumption.id,
            result.assumption.expected,
            str(result.verdict),
            seconds_text(result.seconds) if result.assumption.probe else "",
            usd_text(result.cost_usd) if result.cost_usd else "",
            tables.printable(result.found),
        )
        for result in results
    ]
    for line in tables.table([HEADINGS, *rows], columns=tables.width(), right=RIGHT):
        typer.echo(line)
    verdicts = [str(result.verdict) for result in results]
    counts = ", ".join(
        f"{verdicts.count(word)} {word}" for word in ("holds", "does not", "not tried")
    )
    cost = usd_text(plan.bound.of(paid_s))
    typer.echo(f"{counts}; {seconds_text(paid_s)} with a node: {cost}")
    typer.echo("next: docs/live-checklist.md says what each one is, and who relies on it")
