"""`tpuctl pause` and `unpause`: the kill switch."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.installation import for_orders
from cli.orders import give, new_order
from cli.words import COMMAND_ID
from shared.core.orders import OrderKind


def pause(
    *,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="Why, for everybody whose jobs wait.")
    ] = "",
    command_id: COMMAND_ID = None,
) -> None:
    """Create no slice any more, for anybody; what runs goes on."""
    give(for_orders(), new_order(OrderKind.PAUSE, command_id), {"reason": reason})
    typer.echo("paused: nothing is created; what runs goes on, and what shall go is deleted")
    typer.echo("next: tpuctl ps, later: tpuctl unpause")


def unpause(*, command_id: COMMAND_ID = None) -> None:
    """Create again what is wanted; what waited goes on by itself."""
    give(for_orders(), new_order(OrderKind.UNPAUSE, command_id), {})
    typer.echo("not paused any more: what waits is asked for within a minute")
    typer.echo("next: tpuctl ps")
