"""What one owner may have at once: asked when a slice is ordered, and again before it costs.

Two orders at the same time may both pass the first question. Before anything is created they
stand in order of age, as those who wait for the last chips of a grant do, and one of them waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.app.context import App
from shared.app.stored import owners_slices
from shared.core.caps import over
from shared.core.grants import Use, ahead_of, use_of
from shared.core.ordering import Refused
from shared.core.slices import Slice


def check(app: App, wanted: Slice) -> None:
    """Hold a new slice against what its owner has.  Raises Refused, naming the cap."""
    text = over_at_effect(app, wanted)
    if text:
        raise Refused(f"{text}: stop a job, or ask an admin for a higher cap")


def over_at_effect(app: App, slice_: Slice) -> str:
    """Say which cap a slice would exceed by now; nothing when it fits.  Raises Unavailable."""
    mine = use_of(slice_, app.catalog)
    if not app.limits.bind_owners or mine is None:
        return ""
    return over(app.limits, slice_.owner, mine, ahead_of(slice_, _uses(app, slice_.owner)))


def _uses(app: App, owner: str) -> Sequence[Use]:
    found = (use_of(each, app.catalog) for each in owners_slices(app.store, owner))
    return [use for use in found if use is not None]
