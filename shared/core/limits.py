"""What an installation bounds: requests a minute, and what one owner may have at once."""

from __future__ import annotations

from dataclasses import dataclass

# Below what Google lets a project ask for in a minute; the emulators' storm needs less.
CREATES_PER_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Limits:
    """Counts; None where there is no bound.

    ``creates_per_minute`` is how many queued resources are asked for in a calendar minute.
    """

    creates_per_minute: int = CREATES_PER_MINUTE
    slices_per_owner: int | None = None
    chips_per_owner: int | None = None

    @property
    def bind_owners(self) -> bool:
        """Somebody has to count what owners have."""
        return self.slices_per_owner is not None or self.chips_per_owner is not None
