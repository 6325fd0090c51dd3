"""One self test from the first question to the last delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cli.selftest.model import HOUR_S, Assumption, NotTriedError, Phase, Result, Verdict
from cli.selftest.rig import Rig
from shared.errors import ControlPlaneError


@dataclass(frozen=True, slots=True)
class Bound:
    """What a test may cost at most; ``usd_per_hour`` is None where no price is known."""

    usd_per_hour: float | None
    limit_s: float

    @property
    def usd(self) -> float | None:
        """The price of the whole time."""
        return self.of(self.limit_s)

    def of(self, seconds: float) -> float | None:
        """Return the price of some time with a node."""
        return None if self.usd_per_hour is None else self.usd_per_hour * seconds / HOUR_S


def try_all(
    rig: Rig,
    bound: Bound,
    assumptions: Sequence[Assumption],
    tell: Callable[[Result], None],
    *,
    farewell: Callable[[], None] = lambda: None,
) -> None:
    """Try assumptions in the order of their phases, and tell each result at once.

    The request is deleted in the end, whatever happens; ``farewell`` is called before where
    that was not to be expected.  Raises Retryable when it stays.
    """
    try:
        for phase in Phase:
            due = [each for each in assumptions if each.probe and each.phase is phase]
            problem = _enter(rig, phase)
            for each in due:
                tell(_untried(each, problem) if problem else _try(rig, bound, each))
        for each in assumptions:
            if each.probe is None:
                tell(_untried(each, each.untried))
    finally:
        if rig.may_exist:
            farewell()
            rig.clear()


def _enter(rig: Rig, phase: Phase) -> str:
    """Bring the request to a phase; return why that was not possible, "" if it was."""
    try:
        if phase is Phase.ASKED:
            rig.ask()
        elif phase is Phase.READY:
            if not rig.may_exist:
                return "there is no request"
            rig.wait_ready()
        elif phase is Phase.GONE:
            if not rig.may_exist:
                return "there was no request"
            rig.clear()
    except (ControlPlaneError, NotTriedError) as error:
        return _line(error)
    return ""


def _try(rig: Rig, bound: Bound, assumption: Assumption) -> Result:
    """Try one assumption; what the cloud refuses on the way is no verdict."""
    assert assumption.probe is not None, "only what has a probe is tried"
    began, paid_s = rig.clock(), rig.paid_s
    try:
        finding = assumption.probe(rig)
    except (ControlPlaneError, NotTriedError) as error:
        verdict, found = Verdict.NOT_TRIED, _line(error)
    else:
        verdict = Verdict.HOLDS if finding.holds else Verdict.DOES_NOT
        found = finding.found
    cost = bound.of(rig.paid_s - paid_s)
    return Result(assumption, verdict, found, rig.clock() - began, cost)


def _untried(assumption: Assumption, why: str) -> Result:
    return Result(assumption, Verdict.NOT_TRIED, why)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
