"""``python -m sandbox --home DIR [--port N] [--config FILE]``: serve in the foreground."""

from __future__ import annotations

import argparse
import fcntl
import logging
import resource
import sys
import time
from pathlib import Path
from typing import IO

from sandbox import control
from sandbox.errors import SandboxError
from sandbox.pubsub import Memory, Publish
from sandbox.settings import Settings
from shared.errors import StateFileError

_FILES = 10_240
# A process that was killed is dead to its parent before its last thread has let its files go.
_CLAIM_S = 1.0
_LOOK_AGAIN_S = 0.02


def main() -> int:
    """Run a sandbox until it is told to stop."""
    options = _parse(sys.argv[1:])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    _allow_many_files()
    try:
        lock = _claim(options.home)
        given = control.read_settings(options.config) if options.config else None
        settings = None if given is None else Settings.parse(given)
        # Heavy, and of no use when the settings are wrong.
        from sandbox import server

        built = server.build(
            options.home,
            settings,
            port=options.port,
            publish=_sink(options, settings or Settings()),
            has_ssh=options.ssh,
        )
    except (SandboxError, control.StartError, StateFileError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - before there is a log
        return 1
    with lock:
        server.serve(built, options.home)
    return 0


def _allow_many_files() -> None:
    """Raise our own limit: hundreds of hosts hang on their metadata servers at once."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _claim(home: Path) -> IO[bytes]:
    """Take the home for this process; two starts at once must not both succeed."""
    home.mkdir(parents=True, exist_ok=True)
    lock = (home / "sandbox.lock").open("ab")
    deadline = time.monotonic() + _CLAIM_S
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() < deadline:
                time.sleep(_LOOK_AGAIN_S)
                continue
            lock.close()
            raise control.StartError(f"the sandbox of {home} is up already") from None
        return lock


def _sink(options: argparse.Namespace, settings: Settings) -> Publish:
    if options.bus is None and options.pubsub is None:
        return Memory()
    from sandbox.bus import BusSink, PubSubSink

    if options.pubsub:
        return PubSubSink(options.pubsub, settings.project)
    return BusSink(options.bus)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="sandbox", description=main.__doc__)
    parser.add_argument("--home", type=Path, required=True, help="where its files are")
    parser.add_argument("--port", type=int, default=0, help="port to listen on; 0: any")
    parser.add_argument("--config", type=Path, help="settings as JSON")
    parser.add_argument("--bus", type=Path, help="state file whose bus takes what is published")
    parser.add_argument("--pubsub", help="Pub/Sub emulator that takes it instead, as host:port")
    parser.add_argument("--ssh", action="store_true", help="let its user log in to hosts")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
