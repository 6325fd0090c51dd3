"""Where a slice may be asked for: the zones of a wish, held against what may be used.

Checked when a job is submitted or goes on, and again before each create; both ask
``grants.judge``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shared.core.grants import Judgement, Need, Standing, Terms, judge
from shared.core.ordering import Refused
from shared.core.orders import I_PAY
from shared.errors import NoAccess, QuotaExceeded, Stockout

_RESUME = "tpuctl resume --i-pay goes on"


@dataclass(frozen=True, slots=True)
class Placed:
    """Zones to ask in, best first, and a sentence for the timeline if there is one to tell."""

    zones: tuple[str, ...]
    told: str = ""


def choose(terms: Terms, need: Need, zones: Sequence[str], *, i_pay: bool) -> Placed:
    """Choose zones for a job that names none: those that are covered, with room first.

    Who pays gets all of them, the free ones first.  Raises Refused when none is free.
    """
    judged = [judge(terms, need, zone) for zone in zones] if terms.bind else []
    if all(each.standing is Standing.FREE for each in judged):
        return Placed(tuple(zones))
    by_standing = {standing: _zones(judged, standing) for standing in Standing}
    free, full, outside = by_standing.values()
    if i_pay:
        return Placed((*free, *full, *outside), "" if free else _paid(judged))
    if not free:
        raise Refused(_refusal(judged))
    left_out = f"; {len(outside)} more would cost" if outside else ""
    return Placed((*free, *full), f"zones without cost: {', '.join((*free, *full))}{left_out}")


def hold(terms: Terms, need: Need, zones: Sequence[str], *, i_pay: bool) -> Placed:
    """Hold the zones that a job names against what may be used.

    Raises Refused when one of them is not free.
    """
    judged = [judge(terms, need, zone) for zone in zones] if terms.bind else []
    costly = [each for each in judged if each.standing is not Standing.FREE]
    if costly and not i_pay:
        raise Refused(_refusal(costly))
    return Placed(tuple(zones), _paid(costly) if costly else "")


def admit(terms: Terms, need: Need, zone: str, zones: Sequence[str]) -> None:
    """Let a create in a zone pass, out of the zones where the slice may be.

    Raises Stockout when another zone is better, QuotaExceeded when room will come, NoAccess
    when no zone is covered any more.
    """
    if not terms.bind:
        return
    here = judge(terms, need, zone)
    if here.standing is Standing.FREE:
        return
    others = {judge(terms, need, other).standing for other in zones if other != zone}
    if Standing.FREE in others:
        raise Stockout(here.why, zone=zone)
    if here.standing is Standing.FULL:
        raise QuotaExceeded(here.why)
    if Standing.FULL in others:
        raise Stockout(here.why, zone=zone)
    raise NoAccess(_joined(here.why, here.hint, _RESUME))


def _zones(judged: Sequence[Judgement], standing: Standing) -> tuple[str, ...]:
    return tuple(each.zone for each in judged if each.standing is standing)


def _refusal(costly: Sequence[Judgement]) -> str:
    """Tell the case that is nearest to being free, and how many others there are."""
    best, more = _cheapest(costly), len(costly) - 1
    others = f"{more} other zone{'s' if more > 1 else ''} would cost, too" if more else ""
    return _joined(best.why, others, best.hint, I_PAY)


def _paid(costly: Sequence[Judgement]) -> str:
    return f"its owner pays: {_cheapest(costly).why}"


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))


def _cheapest(costly: Sequence[Judgement]) -> Judgement:
    return min(costly, key=lambda each: (each.standing is Standing.OUTSIDE, each.usd_per_hour))
