"""The local stand-in for Cloud Scheduler and Pub/Sub push: one process that runs the functions.

A thread a subscription takes messages off the Bus and hands them to the use cases, one more
fires the tick. It holds nothing that must survive: kill it at any moment and start another.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.processes import start_time
from shared import settings as home_settings
from shared.adapters.sqlite_bus import SqliteBus
from shared.app.context import App
from shared.errors import ControlPlaneError
from shared.log import get as get_log
from shared.log import to_stderr
from shared.ports import Delivery
from shared.settings import Settings

# How many threads serve each subscription; reports are many and independent of one another.
THREADS: Final = {
    "launch-commands": 1,
    "launch": 1,
    "recovery": 1,
    "report": 2,
    "alert": 1,
    "park": 1,
}
BATCH: Final = 10
# A stop is noticed after one wait; handlers under way get the rest of two seconds.
WAIT_S: Final = 0.5
STOP_S: Final = 1.2
FAILED_PAUSE_S: Final = 0.5
# A thread is named like the function it stands for.
LOG_FORMAT: Final = "%(asctime)s %(levelname)-7s %(threadName)-15s %(name)s: %(message)s"

log = get_log("runner")


class AlreadyUpError(ControlPlaneError):
    """Another runner serves this home."""


def main(arguments: list[str] | None = None) -> int:
    """Run the functions of one home until told to stop."""
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    _log_to_stderr()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        settings = home_settings.load({**os.environ, "TPUCTL_HOME": str(options.home)})
        with _claimed(settings.home):
            run(settings, options.endpoint, stop)
            log.info("runner down")
            logging.shutdown()
            # A handler that waits for the cloud may hold a thread: what it does is repeated.
            os._exit(0)
    except (ControlPlaneError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the last line tells why
        return 1


def run(settings: Settings, endpoint: str, stop: threading.Event) -> None:
    """Serve all subscriptions and the tick; return soon after ``stop`` is set."""
    # Google's libraries take a second: not for a home that is refused.
    from shared import wiring

    app = wiring.embedded(settings, endpoint)
    inbox = wiring.open_bus(settings)
    inbox.release()
    threads = _Server(app, inbox, stop).threads()
    for thread in threads:
        thread.start()
    log.info("runner up: home %s, cloud %s", settings.home, endpoint)
    with _announced(settings.home, endpoint):
        stop.wait()
        deadline = time.monotonic() + STOP_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


@dataclass(frozen=True, slots=True)
class _Server:
    """What the threads share."""

    app: App
    inbox: SqliteBus
    stop: threading.Event

    def threads(self) -> list[threading.Thread]:
        """Make the threads, named like the functions they stand for."""
        turns = {"health_check": self._tick_turn()}
        for subscription, count in THREADS.items():
            for number in range(count):
                name = subscription if number == 0 else f"{subscription}-{number + 1}"
                turns[name] = self._serve_turn(subscription)
        return [
            threading.Thread(target=self._repeat, args=(turn,), name=name, daemon=True)
            for name, turn in turns.items()
        ]

    def _repeat(self, turn: Callable[[], None]) -> None:
        """Take turns until the stop; whatever goes wrong in one, the next one comes."""
        while not self.stop.is_set():
            try:
                turn()
            except Exception:
                log.exception("this turn failed, the next one comes")
                self.stop.wait(FAILED_PAUSE_S)

    def _tick_turn(self) -> Callable[[], None]:
        """Make the turn that checks everything, then waits for the rest of the tick's period."""
        from shared.app import health_check

        def turn() -> None:
            begun = time.monotonic()
            health_check.run(self.app)
            self.stop.wait(max(0.0, self.app.policy.tick_s - (time.monotonic() - begun)))

        return turn

    def _serve_turn(self, subscription: str) -> Callable[[], None]:
        """Make the turn that handles what is due, or waits for it a moment."""

        def turn() -> None:
            if self.inbox.wait([subscription], WAIT_S):
                for delivery in self.inbox.pull(subscription, limit=BATCH):
                    if not self.stop.is_set():
                        self._handle(delivery)

        return turn

    def _handle(self, delivery: Delivery) -> None:
        """Do what a push endpoint does: acknowledge, or give the message back."""
        from shared.app import push

        answer = push.receive(self.app, delivery)
        if answer.retry or answer.retry_after_s is not None:
            self.inbox.retry(delivery, after_s=answer.retry_after_s)
        else:
            self.inbox.ack(delivery)


@contextmanager
def _claimed(home: Path) -> Iterator[None]:
    """Take the home for this process; the system gives it back whatever ends the process."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "runner.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyUpError(f"the local runner of {home} is up already") from None
        yield


@contextmanager
def _announced(home: Path, endpoint: str) -> Iterator[None]:
    """Leave a note of who serves the home, complete or not at all."""
    path = home / "runner.json"
    draft = path.with_suffix(".new")
    note = {"pid": os.getpid(), "started": start_time(os.getpid()), "endpoint": endpoint}
    draft.write_text(json.dumps(note), encoding="utf-8")
    draft.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _log_to_stderr() -> None:
    to_stderr()
    for handler in logging.getLogger().handlers:
        handler.setFormatter(logging.Formatter(LOG_FORMAT))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="functions.runner", description=main.__doc__)
    parser.add_argument("--home", type=Path, required=True, help="the installation's folder")
    parser.add_argument("--endpoint", required=True, help="address of the simulated cloud")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
