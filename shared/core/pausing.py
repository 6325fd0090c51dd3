"""The kill switch: while it is on, nothing is asked of the cloud that would cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Pause:
    """The document ``control/pause``: there while nothing may be created."""

    by: str
    since: datetime
    reason: str = ""
    summary: str = ""

    @property
    def text(self) -> str:
        """Say who, since when, and why."""
        why = f": {self.reason}" if self.reason else ""
        return f"paused by {self.by} since {self.since:%Y-%m-%d %H:%M} UTC{why}"
