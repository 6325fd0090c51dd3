"""`tpuctl stop`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.installation import for_orders
from cli.jobs import find_job
from cli.orders import give, new_order
from cli.words import COMMAND_ID, JOB
from shared.core.orders import OrderKind


def stop(
    job: JOB,
    *,
    kill: Annotated[
        bool, typer.Option("--kill", help="At once, without time for a last checkpoint.")
    ] = False,
    command_id: COMMAND_ID = None,
) -> None:
    """Stop a job; it can be resumed later."""
    installation = for_orders()
    found = find_job(installation, job)
    order = new_order(OrderKind.STOP, command_id)
    give(installation, order, {"job": found.id, "kill": kill})
    typer.echo(f"job {found.number} is being stopped")
    typer.echo(f"next: tpuctl wait {found.number}, later: tpuctl resume {found.number}")
