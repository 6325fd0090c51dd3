"""The figures of a chaos run, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping

from cli.tables import table
from tests.chaos.play import Outcome

_COLUMNS = 100


def as_json(outcome: Outcome) -> dict[str, object]:
    """Write everything that was counted."""
    return {
        "seed": outcome.plan.seed,
        "command": outcome.plan.command,
        "jobs": outcome.jobs,
        "jobs_ended": outcome.finished,
        "chaos_s": round(outcome.chaos_s, 1),
        "calm_s": round(outcome.calm_s, 1),
        "done": dict(sorted(outcome.counts.items())),
        "totals": dict(outcome.verdict.totals),
        "found": found(outcome),
        "complaints": outcome.complaints,
    }


def as_table(outcome: Outcome) -> str:
    """Write the table that people read."""
    rows = [
        ("jobs that ended", f"{outcome.finished} of {outcome.jobs}"),
        *((name, f"{count}") for name, count in outcome.verdict.totals.items()),
        *((name, f"{count}") for name, count in sorted(outcome.counts.items())),
        *((name, f"{count}") for name, count in found(outcome).items()),
        ("chaos, then calm", f"{outcome.chaos_s:.0f} s, {outcome.calm_s:.0f} s"),
        ("seed", f"{outcome.plan.seed}"),
        ("again", outcome.plan.command),
    ]
    return "\n".join(table(rows, columns=_COLUMNS))


def found(outcome: Outcome) -> Mapping[str, int]:
    """Count what must never be."""
    verdict = outcome.verdict
    return {
        "jobs lost": len(verdict.lost),
        "duplicates": len(verdict.duplicates),
        "wrong results": len(verdict.wrong),
        "orphans": len(verdict.orphans),
        "messages parked": len(verdict.parked),
    }
