"""What one person has seen and put away: a file of this machine, nothing of the control plane's.

Which finished jobs `ps` leaves out, and up to when `history` was read. To clean changes no
document and no checkpoint, and another machine's `ps` is its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self

from cli.jobs import JobRow
from shared.settings import Settings

FOLDER: Final = "seen"
CLEANED_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Seen:
    """The file, read.  ``cleaned``: how far each job was when it was put away."""

    path: Path
    cleaned: Mapping[str, str] = field(default_factory=dict)
    looked_at: datetime | None = None

    def hides(self, job: JobRow) -> bool:
        """Tell whether a job was put away, and nothing has become of it since."""
        return self.cleaned.get(job.id) == _state(job)

    def clean(self, jobs: Iterable[JobRow]) -> Self:
        """Put jobs away; of very many the oldest are forgotten."""
        cleaned = {**self.cleaned, **{job.id: _state(job) for job in jobs}}
        return replace(self, cleaned=dict(list(cleaned.items())[-CLEANED_MAX:]))

    def looked(self, at: datetime) -> Self:
        """Remember that everything up to a time was read."""
        return replace(self, looked_at=at)

    def save(self) -> None:
        """Write the file, complete or not at all."""
        fields = {
            "cleaned": self.cleaned,
            "looked_at": self.looked_at.isoformat() if self.looked_at else None,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        new.write_text(json.dumps(fields), encoding="utf-8")
        new.replace(self.path)


def read_seen(settings: Settings, owner: str) -> Seen:
    """Read what the owner has seen; a file that says nothing sensible says nothing."""
    path = settings.home / FOLDER / f"{owner}.json"
    try:
        found = json.loads(path.read_text("utf-8"))
        at = found["looked_at"]
        cleaned = {str(key): str(value) for key, value in found["cleaned"].items()}
        return Seen(path, cleaned, datetime.fromisoformat(at) if at else None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Seen(path)


def _state(job: JobRow) -> str:
    """Name how far a job is: another attempt, or another end, makes it news again."""
    ended: Any = job.fields.get("ended_at")
    when = ended.isoformat() if isinstance(ended, datetime) else ""
    return f"{job.stage} {job.attempt} {when}"
