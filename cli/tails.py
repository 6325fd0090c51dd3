"""The last line that each program wrote: only the newest chunk of one host is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cli.errors import CliError
from cli.installation import Installation
from cli.jobs import JobRow
from cli.tables import printable
from shared.core.names import log_prefix
from shared.errors import ControlPlaneError

# Every host of a gang says the same of its progress.
_HOST = 0


@dataclass(slots=True)
class Tails:
    """Last lines by the job's id; what was read before is not read again."""

    installation: Installation
    _chunks: dict[str, str] = field(default_factory=dict)
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def read(self, jobs: Sequence[JobRow]) -> Mapping[str, str]:
        """Return the last line of each job that has written any."""
        return {id_: lines[-1] for id_, lines in self.lines(jobs, 1).items()}

    def lines(self, jobs: Sequence[JobRow], most: int) -> Mapping[str, list[str]]:
        """Return the last lines of each job, as many as are wanted and its last chunk has.

        Where logs cannot be read there are none: what is known of the jobs is shown all the same.
        """
        try:
            for job in jobs:
                self._look(job)
        except (CliError, ControlPlaneError):
            pass
        known = {job.id: self._lines.get(self._prefix(job), [])[-most:] for job in jobs if most}
        return {id_: lines for id_, lines in known.items() if lines}

    def _look(self, job: JobRow) -> None:
        """Read what has come since the last look."""
        prefix = self._prefix(job)
        found = self.installation.blobs.list(prefix, after=self._chunks.get(prefix, ""))
        if not found:
            return
        self._chunks[prefix] = found[-1].name
        blob = self.installation.blobs.get(found[-1].name)
        text = "" if blob is None else blob.data.decode(errors="replace")
        lines = [printable(line) for line in text.splitlines() if line.strip()]
        self._lines[prefix] = lines or self._lines.get(prefix, [])

    @staticmethod
    def _prefix(job: JobRow) -> str:
        return log_prefix(job.id, max(0, job.attempt), _HOST, folder=job.folder)
