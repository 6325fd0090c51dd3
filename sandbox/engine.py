"""Joins the model to the world: one lock, one ticker thread, and the fleet of processes."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.cloud import Cloud
    from sandbox.fleet import Fleet, Machine

_log = logging.getLogger("sandbox")
# Timers may be centuries away, and no wait can be that long.
_WAIT_S_MAX = 3600.0


class Engine:
    """Owns the cloud.  Whoever wants to read or change it says ``with engine.cloud() as c``.

    When that block begins, everything that is due by then has happened. When it ends, what the
    change killed is dead and what it published is readable; boots happen in the ticker.
    """

    def __init__(
        self,
        cloud: Cloud,
        *,
        clock: Callable[[], float],
        on_change: Callable[[Cloud], None] = lambda _: None,
    ) -> None:
        self._cloud = cloud
        self._clock = clock
        self._on_change = on_change
        self._fleet: Fleet | None = None
        self._changed = threading.Condition(threading.RLock())
        self._is_stopped = False
        self._is_given = False

    def run(self, fleet: Fleet) -> None:
        """Start the ticker, which drives the cloud and this fleet from now on."""
        self._fleet = fleet
        threading.Thread(target=self._tick_until_stopped, name="ticker", daemon=True).start()

    @contextlib.contextmanager
    def cloud(self) -> Iterator[Cloud]:
        """Give exclusive use of the cloud, as it is now."""
        with self._changed:
            is_inner, self._is_given = self._is_given, True
            try:
                # Whoever has the cloud already must not see it change between two lines.
                if not is_inner:
                    self._advance()
                yield self._cloud
            finally:
                self._is_given = is_inner
                if self._fleet:
                    self._fleet.settle(self._cloud)
                self._on_change(self._cloud)
                self._changed.notify_all()

    def pid_of(self, host: str) -> int | None:
        """Return the process id of a host's first process, if it runs."""
        with self._changed:
            return self._fleet.pid_of(host) if self._fleet else None

    def machine_ended(self, machine: Machine) -> None:
        """Learn from the fleet that a machine has exited."""
        with self._changed:
            assert self._fleet, "machines come from the fleet"
            if self._fleet.forget(machine):
                take = self._cloud.host_died
                if machine.wants_reboot:
                    take = self._cloud.host_rebooted
                take(machine.host, machine.boot_id)
                self._on_change(self._cloud)

    def write_guest_attribute(self, host: str, name: str, value: str | None) -> None:
        """Let the API know what a host says of itself; None takes it back."""
        with self.cloud() as cloud:
            cloud.write_guest_attribute(host, name, value)

    def stop(self) -> None:
        """End every host and let time stand still."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
            if self._fleet:
                self._fleet.close()

    def _tick_until_stopped(self) -> None:
        with self._changed:
            while not self._is_stopped:
                try:
                    self._tick()
                except Exception:  # noqa: BLE001 - see the next line
                    # The ticker is the cloud's heart: one bad event must not stop all others.
                    _log.exception("tick failed")
                due = self._cloud.next_due()
                wait_s = _WAIT_S_MAX if due is None else due - self._clock()
                self._changed.wait(min(max(0.0, wait_s), _WAIT_S_MAX))

    def _advance(self) -> None:
        try:
            self._cloud.advance(self._clock())
        except Exception:  # noqa: BLE001 - whoever asks for something else gets it
            _log.exception("something that was due failed")

    def _tick(self) -> None:
        assert self._fleet, "the ticker starts with the fleet"
        self._advance()
        self._fleet.settle(self._cloud)
        self._fleet.boot(self._cloud)
        self._on_change(self._cloud)
