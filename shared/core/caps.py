"""Which cap of an owner one slice more would exceed, in a sentence for people."""

from __future__ import annotations

from collections.abc import Sequence

from shared.core.grants import Use, chips_of
from shared.core.limits import Limits

# An owner's slices that a refusal names, before it only counts them.
_NAMED_MAX = 5


def over(limits: Limits, owner: str, mine: Use, others: Sequence[Use]) -> str:
    """Say which cap of an owner one slice more would exceed; nothing when it fits.

    ``others`` is what the owner has, or asked for, before it.
    """
    slices, chips = len(others), chips_of(others)
    by = f" ({_named(others)})" if others else ""
    if limits.slices_per_owner is not None and slices + 1 > limits.slices_per_owner:
        return (
            f"{owner} may have {_count(limits.slices_per_owner, 'slice')} at once{_has(slices)}{by}"
        )
    if limits.chips_per_owner is not None and chips + mine.need.chips > limits.chips_per_owner:
        return (
            f"{owner} may have {_count(limits.chips_per_owner, 'chip')} at once{_has(chips)}{by},"
            f" and {mine.need.accelerator_type} needs {mine.need.chips}"
        )
    return ""


def _has(number: int) -> str:
    return f" and has {number or 'none'}"


def _named(uses: Sequence[Use]) -> str:
    names = [f"{use.slice}: {use.need.chips}" for use in uses[:_NAMED_MAX]]
    more = len(uses) - len(names)
    return ", ".join([*names, f"{more} more"] if more else names)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
