"""What a host says: it is published, left beside its mandate, or lost on the way."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from shared.errors import Unavailable
from shared.host import agent
from shared.ports import Message
from shared.topology import Topic
from tests.simulation.chance import Fault

if TYPE_CHECKING:
    from tests.simulation.hosts import Host

SNAPSHOT = {"kind": "snapshot", "version": "1"}
RETRY_S = 20.0


class Voice:
    """The snapshots of one host, and since when none of them arrives."""

    def __init__(self, host: Host) -> None:
        self._host, self._around = host, host.around
        self.is_mute = self.is_off_the_bus = False
        self.said_at = -1.0
        self.silent_since: float | None = None
        self._sequence = 0
        self._unsaid = False

    @property
    def has_spoken(self) -> bool:
        """It has said something in this boot, or something arrived in an earlier one."""
        return self.said_at >= 0 or self._sequence > 0

    def begin(self) -> None:
        """Count from the start again, as every boot does."""
        self._sequence = 0

    def fall_silent(self) -> None:
        """Remember since when nothing comes from here."""
        if self.silent_since is None:
            self.silent_since = self._host.now

    def set_mute(self, *, is_mute: bool) -> None:
        """Let nothing that it says arrive, or everything again."""
        if is_mute == self.is_mute or self.is_off_the_bus or not self._host.acts:
            return
        self.is_mute = is_mute
        if is_mute:
            self.fall_silent()
        else:
            self.silent_since = None
            self.say()

    def set_off_the_bus(self, *, is_off: bool) -> None:
        """Let it publish nothing, or everything again; it may still reach storage."""
        if is_off == self.is_off_the_bus or self.is_mute or not self._host.acts:
            return
        self.is_off_the_bus = is_off
        self._host.stir()
        if is_off:
            self.fall_silent()
        else:
            self.silent_since = None
        self.say()

    def say(self) -> None:
        """Publish everything that is true now, or keep it until it can be published."""
        state = self._host.state
        if not self._host.acts or self.is_mute or not agent._has_token(state):
            return
        self._sequence += 1
        at = self._around.clock.now().isoformat()
        words = agent.snapshot(state, sequence=self._sequence, at=at)
        message = Message(json.dumps(words).encode(), SNAPSHOT)
        if self.is_off_the_bus:
            self._leave(message)
            return
        self._repeat_if_lossy()
        if words["phase"] == "idle" and self._around.chance.hits(Fault.LOST_ENDS, 0.3):
            return
        try:
            self._around.network.publish(Topic.REPORTS, [message])
        except Unavailable:
            self._leave(message)
            self._say_later()
            return
        self.said_at = self._host.now

    @property
    def leaves_at(self) -> str:
        """Name what it leaves beside its mandate."""
        return agent.left_report(self._host.state.config)

    def _leave(self, message: Message) -> None:
        """Put what cannot be published beside the mandate, where that can be reached."""
        if not self._host.is_cut_off:
            with suppress(Unavailable):
                self._around.storage.put(self.leaves_at, message.data)

    def _repeat_if_lossy(self) -> None:
        """Where messages get lost, what agents repeat every few minutes is run in full."""
        chance, sequence = self._around.chance, self._sequence
        if chance.has(Fault.LOSS) or chance.has(Fault.LOST_ENDS):
            wait_s = self._host.state.config.snapshot_s
            self._around.engine.after(wait_s, lambda: self._repeat(sequence))

    def _repeat(self, sequence: int) -> None:
        if sequence == self._sequence:
            self.say()

    def _say_later(self) -> None:
        if not self._unsaid:
            self._unsaid = True
            self._around.engine.after(RETRY_S, self._say_again)

    def _say_again(self) -> None:
        self._unsaid = False
        self.say()
