"""The machine's own clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The wall clock, in UTC."""

    def now(self) -> datetime:
        """Return the time now."""
        return datetime.now(UTC)
