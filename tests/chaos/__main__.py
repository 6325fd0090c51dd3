"""``python -m tests.chaos``: kill and cut everything for some minutes; see that nothing is lost.

The state folder is kept when something was wrong: logs, diaries, hosts' consoles.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import typer

from cli.errors import CliError
from sandbox.control import ControlError
from shared.errors import ControlPlaneError
from tests.chaos.figures import as_json, as_table
from tests.chaos.play import Plan, play

PASSED, FAILED = 0, 1
# Ten a minute is what the long run has to reach.
PREEMPTIONS_A_MINUTE: Final = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Make one chaos run; fail unless nothing was lost, doubled, wrong or left over."""
    options = _parse(arguments)
    # Whoever ends this ends all that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(FAILED))
    home = Path(tempfile.mkdtemp(prefix="tpuctl-chaos-"))
    plan = Plan(
        seconds=60 * options.minutes,
        jobs=options.jobs,
        at_once=options.at_once,
        seed=options.seed,
        preemptions_min=int(PREEMPTIONS_A_MINUTE * options.minutes),
    )
    typer.echo(f"chaos for {options.minutes:g} min in {home}", err=True)
    try:
        outcome = play(plan, home / "home", partial(typer.echo, err=True))
    except (AssertionError, ControlPlaneError, ControlError, CliError) as error:
        return _failed([str(error)], plan, home)
    typer.echo(json.dumps(as_json(outcome), indent=2) if options.json else as_table(outcome))
    if outcome.complaints:
        return _failed(outcome.complaints, plan, home)
    shutil.rmtree(home, ignore_errors=True)
    return PASSED


def _failed(complaints: Sequence[str], plan: Plan, home: Path) -> int:
    """Say what is wrong, where to look, and how to see it again."""
    for complaint in complaints:
        typer.echo(f"error: {complaint}", err=True)
    typer.echo(f"everything is kept in {home}; again: {plan.command}", err=True)
    return FAILED


def _positive(kind: Callable[[str], float]) -> Callable[[str], float]:
    """Make a reader of positive numbers; what it reads wrong, argparse says."""

    def number(text: str) -> float:
        if (value := kind(text)) <= 0:
            raise argparse.ArgumentTypeError(f"expected more than 0, found {text}")
        return value

    return number


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=main.__doc__)
    parser.add_argument("--minutes", type=_positive(float), default=10.0, help="how long at least")
    parser.add_argument("--jobs", type=_positive(int), default=30, help="how many at least")
    parser.add_argument("--at-once", type=_positive(int), default=8, help="how many at a time")
    parser.add_argument("--seed", type=int, default=1, help="which deeds, in which order")
    parser.add_argument("--json", action="store_true", help="print the figures for programs")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
