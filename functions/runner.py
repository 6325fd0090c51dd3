"""The stand-in for Cloud Scheduler and Pub/Sub push: one process that runs the functions.

A thread a subscription takes messages off the Bus and hands them to the use cases, one more
fires the tick. So it is on this machine, and on a box, which also pulls what agents report from
the cloud. It holds nothing that must survive: kill it at any moment and start another.
"""

from __future__ import annotations

import argparse
import fcntl
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from functions.ticks import Ticks
from sandbox import background
from shared import settings as home_settings
from shared.adapters.sqlite_bus import SqliteBus
from shared.app import seal
from shared.app.context import App
from shared.errors import ControlPlaneError
from shared.log import TextFormatter, to_stderr
from shared.log import get as get_log
from shared.ports import Delivery, Inbox
from shared.settings import Settings, Wiring
from shared.topology import BOX_REPORTS, SUBSCRIPTIONS

# How many threads serve a subscription: reports are many and independent of one another.
REPORT_THREADS: Final = 2
BATCH: Final = 10
# A stop is noticed after one wait; handlers under way get the rest of two seconds.
WAIT_S: Final = 0.5
STOP_S: Final = 1.2
FAILED_PAUSE_S: Final = 0.5
# How soon a service is asked again that did not answer.
AGAIN_S: Final = 2.0
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
    ticks = Ticks(stop)
    ticks.listen()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        settings = home_settings.load({**os.environ, "TPUCTL_HOME": str(options.home)})
        with _claimed(settings.home):
            run(settings, options.endpoint, stop, ticks)
            log.info("runner down")
            logging.shutdown()
            # A handler that waits for the cloud may hold a thread: what it does is repeated.
            os._exit(0)
    except (ControlPlaneError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - the last line tells why
        return 1


def run(settings: Settings, endpoint: str, stop: threading.Event, ticks: Ticks) -> None:
    """Serve all subscriptions and the tick; return soon after ``stop`` is set."""
    # Google's libraries take a second: not for a home that is refused.
    from shared import wiring

    app = wiring.open_app(settings, endpoint)
    local = wiring.open_local_bus(settings)
    local.release()
    is_box = settings.wiring is Wiring.BOX
    server = _Server(app, stop, ticks, _sources(settings, local), is_box)
    server.check_unsealed()
    threads = server.threads()
    for thread in threads:
        thread.start()
    log.info("runner up: home %s, cloud %s", settings.home, endpoint or "Google")
    with background.announced(settings.home / "runner.json", endpoint=endpoint):
        stop.wait()
        ticks.poke()
        deadline = time.monotonic() + STOP_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the messages of one subscription are taken from, and its name there."""

    inbox: Inbox
    name: str
    wait: Callable[[], bool]


def _sources(settings: Settings, local: SqliteBus) -> dict[str, _Source]:
    """Find the messages of all subscriptions: on this machine, a box's reports in the cloud."""
    from shared import wiring

    def waiting(name: str) -> Callable[[], bool]:
        return lambda: local.wait([name], WAIT_S)

    sources = {each.name: _Source(local, each.name, waiting(each.name)) for each in SUBSCRIPTIONS}
    if settings.wiring is Wiring.BOX:
        # A pull waits in the cloud.
        cloud = wiring.open_report_inbox(settings)
        sources["report"] = _Source(cloud, BOX_REPORTS.name, lambda: True)
    return sources


@dataclass(frozen=True, slots=True)
class _Server:
    """What the threads share.  ``is_movable``: its documents can be sealed while it runs."""

    app: App
    stop: threading.Event
    ticks: Ticks
    sources: Mapping[str, _Source]
    is_movable: bool = False

    def threads(self) -> list[threading.Thread]:
        """Make the threads, named like the functions they stand for."""
        turns = {"health_check": self._tick_turn()}
        for subscription, source in self.sources.items():
            for number in range(REPORT_THREADS if subscription == "report" else 1):
                name = subscription if number == 0 else f"{subscription}-{number + 1}"
                turns[name] = self._serve_turn(subscription, source)
        return [
            threading.Thread(target=self._repeat, args=(turn,), name=name, daemon=True)
            for name, turn in turns.items()
        ]

    def check_unsealed(self) -> None:
        """Raise SealedError when the documents are about to move."""
        if self.is_movable:
            seal.check_unsealed(self.app.store)

    def _repeat(self, turn: Callable[[], None]) -> None:
        """Take turns until the stop; whatever goes wrong in one, the next one comes."""
        while not self.stop.is_set():
            try:
                turn()
            except ControlPlaneError as error:
                log.warning("the next turn comes: %s", error)
                self.stop.wait(AGAIN_S)
            except Exception:
                log.exception("this turn failed, the next one comes")
                self.stop.wait(FAILED_PAUSE_S)

    def _tick_turn(self) -> Callable[[], None]:
        """Make the turn that checks everything, then waits out its period, or for a poke."""
        from shared.app import health_check

        def turn() -> None:
            self.ticks.begin()
            self.check_unsealed()
            health_check.run(self.app)
            self.ticks.pause(self.app.policy.tick_s)

        return turn

    def _serve_turn(self, subscription: str, source: _Source) -> Callable[[], None]:
        """Make the turn that handles what is due, or waits for it a moment."""

        def turn() -> None:
            if not source.wait():
                return
            for delivery in source.inbox.pull(source.name, limit=BATCH):
                if not self.stop.is_set():
                    self.check_unsealed()
                    self._handle(source.inbox, delivery, subscription)

        return turn

    def _handle(self, inbox: Inbox, delivery: Delivery, subscription: str) -> None:
        """Do what a push endpoint does: acknowledge, or give the message back."""
        from shared.app import push

        answer = push.receive(self.app, replace(delivery, subscription=subscription))
        if answer.retry or answer.retry_after_s is not None:
            inbox.retry(delivery, after_s=answer.retry_after_s)
        else:
            inbox.ack(delivery)


@contextmanager
def _claimed(home: Path) -> Iterator[None]:
    """Take the home for this process; the system gives it back whatever ends the process."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "runner.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AlreadyUpError(f"the runner of {home} is up already") from None
        yield


def _log_to_stderr() -> None:
    to_stderr()
    for handler in logging.getLogger().handlers:
        handler.setFormatter(TextFormatter(LOG_FORMAT))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="functions.runner", description=main.__doc__)
    parser.add_argument("--home", type=Path, required=True, help="the installation's folder")
    parser.add_argument(
        "--endpoint", default="", help="address of the simulated cloud, if it is one"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
