"""What is heard without being run: the snapshots of hosts that repeat themselves, and canaries.

A host that says the same every few minutes changes one thing: when it was last heard. The world
does not run those messages; it answers for them when the Store is asked.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from shared.app.silence import CANARY
from shared.core.hosts import host_key
from tests.fake_world import FAKE_START
from tests.simulation.engine import Engine

if TYPE_CHECKING:
    from tests.simulation.hosts import Host


class Hearing:
    """When each document of a host was last written, had every snapshot been run."""

    def __init__(self, engine: Engine, tick_s: float, snapshot_s: float) -> None:
        self._engine, self._tick_s, self._snapshot_s = engine, tick_s, snapshot_s
        self._speakers: dict[str, Host] = {}
        self._down_since: float | None = None
        self.tick_at = 0.0

    def listen_to(self, host: Host) -> None:
        """Know which document a host's snapshots are kept in."""
        config = host.state.config
        key = host_key(config.generation, config.bid, config.host)
        self._speakers[f"slices/{config.slice}/hosts/{key}"] = host

    def set_down(self, *, is_down: bool) -> None:
        """Remember since when nothing is heard at all."""
        self._down_since = self._engine.now if is_down else None

    def __call__(self, path: str) -> datetime | None:
        """Say when a document was last written by somebody who is not run in full."""
        if path == CANARY:
            return _time(self._before_outage(self.tick_at))
        host = self._speakers.get(path)
        if host is None or host.voice.said_at < 0:
            return None
        voice = host.voice
        until = self._engine.now if voice.silent_since is None else voice.silent_since
        until = self._before_outage(until)
        repeats = max(0, int((until - voice.said_at) / self._snapshot_s))
        return _time(voice.said_at + repeats * self._snapshot_s)

    def _before_outage(self, until: float) -> float:
        return until if self._down_since is None else min(until, self._down_since)


def _time(seconds: float) -> datetime:
    return FAKE_START + timedelta(seconds=seconds)
