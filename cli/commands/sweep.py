"""`tpuctl sweep`: what is ours in the cloud and wanted by nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cli import tables
from cli.as_json import print_json
from cli.errors import TIMED_OUT, CliError
from cli.installation import Installation, for_orders, here, say_aside
from cli.words import AS_JSON, COMMAND_ID
from shared.errors import ControlPlaneError

if TYPE_CHECKING:
    from cli.sweeping import Fate
    from shared.app.orphans import Judged, Survey

HEADINGS: Final = ("NAME", "ZONE", "STATE", "AGE", "WHY")
RIGHT: Final = frozenset({3})
# Whoever has more of them wants the JSON.
ROWS_MAX: Final = 100
RIGHTS: Final = "roles/tpu.viewer for your own account: this looks as you, not as the functions"


def sweep(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be deleted, and change nothing.")
    ] = False,
    zone: Annotated[
        list[str] | None,
        typer.Option(metavar="ZONE", help="Look there, too; may be repeated."),
    ] = None,
    as_json: AS_JSON = False,
    command_id: COMMAND_ID = None,
) -> None:
    """Delete TPUs of ours that no slice wants, after a look at each."""
    from cli.sweeping import surveyor, zones_to_look_in

    installation = here() if dry_run else for_orders()
    zones = zones_to_look_in(installation, zone or ())
    if not zones:
        typer.echo("no slice was ever asked for here\nnext: tpuctl sweep --zone ZONE")
        return
    survey = surveyor(installation).survey(zones)
    if dry_run:
        again = " ".join(["tpuctl sweep", *(f"--zone {name}" for name in zone or ())])
        _show_plan(survey, zones, again, as_json=as_json)
    else:
        _carry_out(installation, survey, zones, command_id, as_json=as_json)


def _show_plan(survey: Survey, zones: Sequence[str], again: str, *, as_json: bool) -> None:
    if not survey.complete:
        raise CliError(f"no zone was listed: {survey.problems[0]}", next_step=RIGHTS)
    orphans, kept = _parts(survey)
    if as_json:
        _print_json(survey, zones, [], dry_run=True)
        return
    _print_rows("would be deleted", orphans, _why)
    _print_rows("is left alone", kept, _why)
    _print_unseen(survey)
    if not orphans:
        typer.echo(f"nothing to delete in {', '.join(sorted(survey.complete))}")
    typer.echo(f"next: {again if orphans else 'tpuctl slice ls'}")


def _carry_out(
    installation: Installation,
    survey: Survey,
    zones: Sequence[str],
    command_id: str | None,
    *,
    as_json: bool,
) -> None:
    """Let the tick look where there is something to delete, or where nobody could look."""
    orphans, _ = _parts(survey)
    unseen = set(zones) - survey.complete
    wanted = {judged.request.zone for judged in orphans} | unseen
    fates = _swept(installation, sorted(wanted), orphans, command_id) if wanted else []
    if as_json:
        _print_json(survey, zones, fates, dry_run=False)
    else:
        words = {fate.judged.request.name: fate.why for fate in fates}
        _print_rows("swept", [fate.judged for fate in fates], lambda each: words[each.request.name])
        _print_unseen(survey)
        if not wanted:
            typer.echo(f"nothing to delete in {', '.join(zones)}")
        elif unseen:
            typer.echo("the checks look there with an account of their own: the log of recovery")
        typer.echo("next: tpuctl slice ls")
    _complain(fates)


def _swept(
    installation: Installation, zones: list[str], orphans: list[Judged], command_id: str | None
) -> list[Fate]:
    """Order the sweep of zones, wake the tick, and wait."""
    from cli.commands.poke import bell_of
    from cli.orders import give, new_order
    from cli.sweeping import wait_for
    from shared.core.orders import OrderKind

    give(installation, new_order(OrderKind.SWEEP, command_id), {"zones": zones})
    try:
        bell_of(installation.settings).ring()
    except (CliError, ControlPlaneError) as error:
        say_aside(f"the checks come at their next minute: {error}")
    return wait_for(installation, orphans)


def _complain(fates: Sequence[Fate]) -> None:
    """Say that something is still there after all.  Raises CliError."""
    from cli.sweeping import STILL_THERE, WAIT_S

    left = [fate for fate in fates if fate.why == STILL_THERE]
    if left:
        raise CliError(
            f"{len(left)} of {len(fates)} still there after {WAIT_S:g} s",
            next_step="tpuctl sweep --dry-run; the log of recovery says more: docs/operate.md",
            code=TIMED_OUT,
        )


def _parts(survey: Survey) -> tuple[list[Judged], list[Judged]]:
    """Divide into orphans and what is left alone, each by zone and name."""
    ordered = sorted(survey.judged, key=lambda each: (each.request.zone, each.request.name))
    orphans = [each for each in ordered if each.judgement.is_orphan]
    return orphans, [each for each in ordered if not each.judgement.is_orphan]


def _print_rows(title: str, found: Sequence[Judged], why: Callable[[Judged], str]) -> None:
    if not found:
        return
    typer.echo(f"{title}:")
    rows = [HEADINGS, *(_row(each, why(each)) for each in found[:ROWS_MAX])]
    for line in tables.table(rows, columns=tables.width(), right=RIGHT):
        typer.echo(line)
    if len(found) > ROWS_MAX:
        typer.echo(f"and {len(found) - ROWS_MAX} more: --json names all")
    typer.echo()


def _row(judged: Judged, why: str) -> tuple[str, ...]:
    from cli.sweeping import as_fields

    fields = as_fields(judged)
    return (
        tables.printable(judged.request.name),
        judged.request.zone,
        judged.request.state.lower(),
        tables.age(fields["created_at"], datetime.now(UTC)),
        tables.printable(why),
    )


def _why(judged: Judged) -> str:
    return judged.judgement.why


def _print_unseen(survey: Survey) -> None:
    for problem in survey.problems:
        typer.echo(f"not judged: {tables.printable(problem)}")


def _print_json(
    survey: Survey, zones: Sequence[str], fates: Sequence[Fate], *, dry_run: bool
) -> None:
    from cli.sweeping import as_fields

    orphans, kept = _parts(survey)
    became = {fate.judged.request.name: fate.why for fate in fates}
    told = [
        as_fields(each) | ({} if dry_run else {"became": became[each.request.name]})
        for each in orphans
    ]
    print_json(
        {
            "zones": list(zones),
            "not_judged": list(survey.problems),
            "orphans": told,
            "kept": [as_fields(each) for each in kept],
        }
    )
